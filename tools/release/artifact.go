package main

import (
	"bytes"
	"encoding/json"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// zippedLayer is a layer: a gzipped tar.
type zippedLayer []byte

// Digest implements partial.CompressedLayer, as do the others.
func (z zippedLayer) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(z))
	return hash, err
}

func (z zippedLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(z)), nil
}
func (z zippedLayer) Size() (int64, error)                { return int64(len(z)), nil }
func (z zippedLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// artifact is an image whose config is not that of a container.
type artifact struct {
	v1.Image
	config []byte
}

// Manifest is the image's with the other config.
func (a artifact) Manifest() (*v1.Manifest, error) {
	m, err := a.Image.Manifest()
	if err != nil {
		return nil, err
	}
	m = m.DeepCopy()
	hash, size, err := v1.SHA256(bytes.NewReader(a.config))
	m.Config = v1.Descriptor{MediaType: chartConfig, Digest: hash, Size: size}
	return m, err
}

// RawManifest implements v1.Image, as do the others.
func (a artifact) RawManifest() ([]byte, error) {
	m, err := a.Manifest()
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}

func (a artifact) RawConfigFile() ([]byte, error)      { return a.config, nil }
func (a artifact) ConfigName() (v1.Hash, error)        { return partial.ConfigName(a) }
func (a artifact) Digest() (v1.Hash, error)            { return partial.Digest(a) }
func (a artifact) Size() (int64, error)                { return partial.Size(a) }
func (a artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
