package wasmimage

import (
	"bytes"
	"encoding/json"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Archive is the image as a tar of an OCI image layout, which "docker load", "podman load", "ctr images import" and
// "skopeo copy oci-archive:" read. It keeps the digest that Push gives. name is what the image shall be called there.
func Archive(image v1.Image, name string) ([]byte, error) {
	blobs, err := readBlobs(image)
	if err != nil {
		return nil, err
	}
	index, err := makeIndex(image, name)
	if err != nil {
		return nil, err
	}
	files := append([]tarFile{{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", index}}, blobs...)
	var archive bytes.Buffer
	err = writeTar(&archive, files)
	return archive.Bytes(), err
}

// makeIndex makes the layout's list of one image.
func makeIndex(image v1.Image, name string) ([]byte, error) {
	about, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	about.Annotations = map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
	return json.Marshal(
		v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*about}},
	)
}

// readBlobs reads the manifest, the config and the layers, under their digests.
func readBlobs(image v1.Image) ([]tarFile, error) {
	manifest, err := image.RawManifest()
	if err != nil {
		return nil, err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return nil, err
	}
	contents := [][]byte{manifest, config}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		stream, err := l.Compressed()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(stream)
		if err != nil {
			return nil, err
		}
		contents = append(contents, data)
	}
	files := make([]tarFile, 0, len(contents))
	for _, data := range contents {
		hash, _, err := v1.SHA256(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		files = append(files, tarFile{"blobs/" + hash.Algorithm + "/" + hash.Hex, data})
	}
	return files, nil
}
