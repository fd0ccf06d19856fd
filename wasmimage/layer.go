package wasmimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// PluginName is the module's name in the layer; both consumers look for it.
const PluginName = "plugin.wasm"

// layer is a gzipped tar.
type layer struct{ data []byte }

// newLayer makes the layer with the module.
func newLayer(module []byte) (v1.Layer, error) {
	var archive bytes.Buffer
	// Stored, not deflated: what a compressor makes of the same bytes changes from one release of Go to the next,
	// and the digest with it.
	zipped, err := gzip.NewWriterLevel(&archive, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(zipped, []tarFile{{PluginName, module}}); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return partial.CompressedToLayer(layer{archive.Bytes()})
}

// Digest implements partial.CompressedLayer, as do the others.
func (l layer) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(l.data))
	return hash, err
}

func (l layer) Compressed() (io.ReadCloser, error)  { return io.NopCloser(bytes.NewReader(l.data)), nil }
func (l layer) Size() (int64, error)                { return int64(len(l.data)), nil }
func (l layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// tarFile is a file of an archive.
type tarFile struct {
	name string
	data []byte
}

// writeTar writes files in the order given, without an owner of their own and as old as time.
func writeTar(w io.Writer, files []tarFile) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
