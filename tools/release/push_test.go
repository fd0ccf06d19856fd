package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// startRegistry gives the address of an empty registry on this machine.
func startRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPushTakesWhatWasMade: images and chart are in the registry under the digests that images.txt says; another one's is an error.
func TestPushTakesWhatWasMade(t *testing.T) {
	r := newRelease(t)
	r.registry = startRegistry(t) + "/limpet-proxy"
	if err := errors.Join(r.writeImages(), r.writeChart(), r.writeChecksums()); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := r.push(context.Background(), &printed, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(printed.String())
	if len(lines) != 4 {
		t.Fatalf("pushed %q", lines)
	}
	for _, pinned := range lines {
		at, err := name.NewDigest(pinned)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Get(at); err != nil {
			t.Errorf("%s: %v", pinned, err)
		}
	}
	chart, err := name.NewTag(r.registry + "/charts/limpet:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(chart)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil || manifest.Config.MediaType != chartConfig || manifest.Layers[0].MediaType != chartContent {
		t.Errorf("%+v, %v", manifest, err)
	}
	writeFile(t, filepath.Join(r.out, "limpet-1.2.3.tgz"), "another")
	if err := r.push(context.Background(), io.Discard, true); err == nil || !strings.Contains(err.Error(), "another digest") {
		t.Errorf("a chart that is not the one of images.txt: %v", err)
	}
}
