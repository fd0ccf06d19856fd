// Package read turns files into documents: YAML or JSON, several documents a file, lists expanded. It is strict
// (broken syntax, duplicate keys, binary and empty files are errors with their line), and bounded: no input makes
// it use more than a small multiple of the file's own size.
package read

import (
	"bytes"
	"unicode/utf8"

	"github.com/limpet-proxy/limpet/compiler/parallel"
	"github.com/limpet-proxy/limpet/compiler/report"
)

// MaxFile is the most bytes of one file that are read. The largest object that an API server stores is 1.5 MB.
const MaxFile = 10 << 20

// Source is one file of the input.
type Source struct {
	// Name is the file's name as the user wrote it.
	Name string
	// Data is the file's content; longer than MaxFile it is refused, so nobody need read more than MaxFile+1 bytes.
	Data []byte
}

// Documents reads every object of the sources, in order. What is wrong goes to the report, all of it at once.
func Documents(sources []Source, rep *report.Report) []*Document {
	type file struct {
		Source
		docs []*Document
		rep  report.Report
	}
	files := make([]*file, len(sources))
	for i, s := range sources {
		files[i] = &file{Source: s}
	}
	parallel.Each(files, func(some []*file) {
		for _, f := range some {
			f.docs = documents(f.Source, &f.rep)
		}
	})
	var docs []*Document
	for _, f := range files {
		docs = append(docs, f.docs...)
		rep.Add(&f.rep)
	}
	return docs
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func documents(s Source, rep *report.Report) []*Document {
	if problem := unreadable(s.Data); problem != "" {
		rep.ErrorAt(place{file: s.Name}, "", problem)
		return nil
	}
	var docs []*Document
	chunks := split(s.Name, bytes.TrimPrefix(s.Data, byteOrderMark))
	empty := true
	for _, c := range chunks {
		found, blank := c.documents(rep)
		docs = append(docs, found...)
		empty = empty && blank
	}
	if empty {
		rep.ErrorAt(place{file: s.Name}, "", "the file is empty: it has no object")
	}
	return docs
}

// unreadable says why data can't be a text file of ours; empty if it may be one.
func unreadable(data []byte) string {
	switch {
	case len(data) > MaxFile:
		return "the file is too large: at most 10 MiB are read"
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return "not a text file: YAML and JSON are UTF-8 without NUL bytes"
	default:
		return ""
	}
}

// place is a spot in a file that belongs to no object.
type place struct {
	file string
	line int
}

func (p place) String() string              { return "" }
func (p place) Locate(string) (string, int) { return p.file, p.line }
