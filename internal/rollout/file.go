package rollout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// File is a file of a discovery folder.
type File struct {
	// Path is relative to the folder.
	Path string
	// Version stands in the file, and Envoy shows it when it has taken the file over.
	Version string
	Data    []byte
	// Counters is what the names of Envoy's counters about the file begin with.
	Counters string
	// Unread says that Envoy need not read the file yet, and does so with what a later stage brings.
	Unread bool
}

// makeFile puts resources into a file. The version is a hash of them, so that equal files are equal to the byte.
func makeFile(path, counters string, resources ...envoy.Resource) File {
	var list bytes.Buffer
	for i, r := range resources {
		if i > 0 {
			list.WriteByte(',')
		}
		list.WriteByte('\n')
		list.Write(r.JSON)
	}
	hash := sha256.Sum256(list.Bytes())
	version := hex.EncodeToString(hash[:12])
	data := append([]byte(`{"version_info":"`+version+`","resources":[`), list.Bytes()...)
	return File{Path: path, Version: version, Data: append(data, "\n]}\n"...), Counters: counters}
}
