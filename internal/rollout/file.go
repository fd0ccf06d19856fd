package rollout

import (
	"crypto/sha256"
	"encoding/hex"

	"google.golang.org/protobuf/encoding/protowire"

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

// The numbers of fields: of DiscoveryResponse, and of Any.
const (
	responseVersion, responseResources = 1, 2
	anyType, anyValue                  = 1, 2
)

// makeFile puts resources into a file, which is a DiscoveryResponse. The version is a hash of them, so that equal files are equal
// to the byte.
func makeFile(path, counters string, resources ...envoy.Resource) File {
	var list []byte
	for _, r := range resources {
		head := protowire.AppendTag(nil, anyType, protowire.BytesType)
		head = protowire.AppendString(head, r.TypeURL)
		head = protowire.AppendTag(head, anyValue, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(len(r.Content)))
		list = protowire.AppendTag(list, responseResources, protowire.BytesType)
		list = protowire.AppendVarint(list, uint64(len(head)+len(r.Content)))
		list = append(append(list, head...), r.Content...)
	}
	hash := sha256.Sum256(list)
	version := hex.EncodeToString(hash[:12])
	data := protowire.AppendTag(nil, responseVersion, protowire.BytesType)
	data = append(protowire.AppendString(data, version), list...)
	return File{Path: path, Version: version, Data: data, Counters: counters}
}
