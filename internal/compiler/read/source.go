// Package read turns files into documents: YAML or JSON, several documents a file, lists expanded. It is strict
// (broken syntax, duplicate keys, binary and empty files are errors with their line), and bounded: no input makes
// it use more than a small multiple of the file's own size.
package read

import (
	"bytes"
	"unicode/utf8"
)

// MaxFile is the most bytes of one file that are read. The largest object that an API server stores is 1.5 MB.
const MaxFile = 10 << 20

// Source is one file of the input.
type Source struct {
	// Name is the file's name as the user wrote it.
	Name string
	// Data is the file's content; longer than MaxFile it is refused, so no reader needs more than MaxFile+1 bytes.
	Data []byte
	// Problem says why the file can't be had; empty for one that is there.
	Problem string
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// explainUnreadable says why data can't be a text file of ours; empty if it may be one.
func explainUnreadable(data []byte) string {
	switch {
	case len(data) > MaxFile:
		return "the file is too large: at most 10 MiB are read"
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "not a text file: YAML and JSON are UTF-8 without NUL bytes"
	default:
		return ""
	}
}
