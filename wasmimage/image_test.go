package wasmimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// testModule stands in for limpet.wasm: nothing here looks into it.
var testModule = bytes.Repeat([]byte("the filter's module, more or less\n"), 5000)

func testImage(t *testing.T) v1.Image {
	t.Helper()
	image, err := New(testModule, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// plugin is what Istio and Envoy Gateway take out of an image: they want an OCI manifest with an OCI layer, the last
// one, that is a gzipped tar with plugin.wasm. The steps are those of their image fetchers.
func plugin(t *testing.T, image v1.Image) []byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) == 0 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	last := layers[len(layers)-1]
	if got, err := last.MediaType(); err != nil || got != types.OCILayer {
		t.Fatalf("layer of type %s, %v", got, err)
	}
	stream, err := last.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	return tarContents(t, unzipped)["plugin.wasm"]
}

// tarContents are the files of an archive.
func tarContents(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(epoch) {
			t.Errorf("%s is of %v", header.Name, header.ModTime)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

func TestImageHoldsTheModule(t *testing.T) {
	image := testImage(t)
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(plugin(t, image), testModule) {
		t.Error("plugin.wasm is not the module")
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON {
		t.Errorf("manifest of type %s, config of type %s", manifest.MediaType, manifest.Config.MediaType)
	}
	for name, want := range map[string]string{
		"version": "v1.2.3", "licenses": "Apache-2.0", "source": "https://github.com/limpet-proxy/limpet",
	} {
		if got := manifest.Annotations["org.opencontainers.image."+name]; got != want {
			t.Errorf("annotation %s is %q, want %q", name, got, want)
		}
	}
}

// The digest is part of what users write down. It changes when the version does, and else only by a decision.
func TestDigestIsReproducible(t *testing.T) {
	const want = "sha256:c8bd3186d27449f51c2a27aa45bedb8e444d93c8007fd8e8eae42063b71ce242"
	digest, err := testImage(t).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if digest.String() != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
}

func TestArchiveIsALayout(t *testing.T) {
	image := testImage(t)
	archive, err := Archive(image, "limpet:v1")
	if err != nil {
		t.Fatal(err)
	}
	files := tarContents(t, bytes.NewReader(archive))
	index, err := v1.ParseIndexManifest(bytes.NewReader(files["index.json"]))
	if err != nil || len(index.Manifests) != 1 {
		t.Fatalf("%v, index %+v", err, index)
	}
	if digest, err := image.Digest(); err != nil || index.Manifests[0].Digest != digest {
		t.Errorf("%v, digest %s, want %s", err, index.Manifests[0].Digest, digest)
	}
	named := index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
	if named != "limpet:v1" || string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("named %q, oci-layout %s", named, files["oci-layout"])
	}
	checkBlobs(t, image, files)
}

// checkBlobs wants every part of the image among the files, under its digest.
func checkBlobs(t *testing.T, image v1.Image, files map[string][]byte) {
	t.Helper()
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]v1.Hash{digest, manifest.Config.Digest}, manifest.Layers[0].Digest) {
		data, ok := files["blobs/sha256/"+want.Hex]
		if got, _, err := v1.SHA256(bytes.NewReader(data)); !ok || err != nil || got != want {
			t.Errorf("blob %s: there: %v, digest %s, %v", want, ok, got, err)
		}
	}
}
