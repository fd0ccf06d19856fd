package wasmimage

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// startRegistry starts a registry on loopback and gives its address.
func startRegistry(t *testing.T, options ...registry.Option) string {
	t.Helper()
	server := httptest.NewServer(registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// pull gets what a registry has under a reference.
func pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

var testSBOM = []byte(`{"spdxVersion":"SPDX-2.3"}`)

func TestPushAndPullBack(t *testing.T) {
	for kind, options := range map[string][]registry.Option{
		"a registry with referrers": {registry.WithReferrersSupport(true)}, "an older registry": nil,
	} {
		t.Run(kind, func(t *testing.T) {
			host := startRegistry(t, options...)
			pinned, err := Push(t.Context(), testImage(t), testSBOM, Destination{Reference: host + "/team/limpet:v1", Insecure: true})
			if err != nil {
				t.Fatal(err)
			}
			digest, _ := testImage(t).Digest()
			if want := host + "/team/limpet@" + digest.String(); pinned != want {
				t.Errorf("pushed as %s, want %s", pinned, want)
			}
			for _, reference := range []string{pinned, host + "/team/limpet:v1"} {
				if !bytes.Equal(plugin(t, pull(t, reference)), testModule) {
					t.Errorf("%s: plugin.wasm is not the module", reference)
				}
			}
			checkReferrer(t, pinned)
		})
	}
}

// checkReferrer wants the bill of materials attached to the image.
func checkReferrer(t *testing.T, pinned string) {
	t.Helper()
	ref, err := name.NewDigest(pinned)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Referrers(ref)
	if err != nil {
		t.Fatal(err)
	}
	list, err := index.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || list.Manifests[0].ArtifactType != SPDX {
		t.Fatalf("%v, referrers %+v", err, list)
	}
	layers, err := pull(t, ref.Context().Digest(list.Manifests[0].Digest.String()).String()).Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	stream, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stream); err != nil || !bytes.Equal(got, testSBOM) {
		t.Errorf("%v, bill of materials %s", err, got)
	}
}

func TestPushWithoutSBOM(t *testing.T) {
	host := startRegistry(t, registry.WithReferrersSupport(true))
	pinned, err := Push(t.Context(), testImage(t), nil, Destination{Reference: host + "/limpet", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewDigest(pinned)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Referrers(ref)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := index.IndexManifest(); err != nil || len(list.Manifests) != 0 {
		t.Errorf("%v, referrers %+v", err, list)
	}
}

// Nothing is sent in the clear unless asked for, not even to loopback, and not by way of a redirect either.
func TestPlainHTTPIsRefused(t *testing.T) {
	host := startRegistry(t)
	_, err := Push(t.Context(), testImage(t), nil, Destination{Reference: host + "/limpet"})
	if err == nil || !strings.Contains(err.Error(), "plain HTTP to "+host+" refused") {
		t.Errorf("without Insecure: %v", err)
	}
	away := httptest.NewServer(http.RedirectHandler("http://registry.example/v2/", http.StatusTemporaryRedirect))
	defer away.Close()
	_, err = Push(t.Context(), testImage(t), nil, Destination{Reference: away.Listener.Addr().String() + "/limpet", Insecure: true})
	if err == nil || !strings.Contains(err.Error(), "plain HTTP to registry.example refused") {
		t.Errorf("redirected: %v", err)
	}
}

func TestDestinations(t *testing.T) {
	for reference, want := range map[string]string{
		"limpet":                       "must begin with the registry's name",
		"team/limpet:v1":               "must begin with the registry's name",
		"ghcr.io/Team/limpet":          "must be REGISTRY/REPOSITORY[:TAG]",
		"ghcr.io/team/limpet@sha256:0": "must be REGISTRY/REPOSITORY[:TAG]",
		"":                             "must be REGISTRY/REPOSITORY[:TAG]",
		"ghcr.io/team/limpet:v1":       "only",
		"10.0.0.1:5000/limpet":         "only",
		"localhost.example/limpet":     "only",
		"localhost:5000/limpet":        "",
		"127.3.2.1/limpet:v1":          "",
		"[::1]:5000/team/limpet":       "",
	} {
		err := Destination{Reference: reference, Insecure: true}.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", reference, err, want)
		}
	}
}
