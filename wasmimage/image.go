// Package wasmimage packs the filter's module as the OCI image that Istio and Envoy Gateway load Wasm plugins from.
//
// Both accept an OCI image manifest whose last layer is a gzipped tar with the module under the name plugin.wasm
// (the "compat" variant of the Wasm image specification). It is an image like any other, so every registry takes it.
// Equal modules and versions give equal bytes, and so equal digests, whoever builds them and when.
package wasmimage

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// epoch is the time of everything in the image: a digest shall not depend on when it was made.
var epoch = time.Unix(0, 0).UTC()

// New makes the image of a module. The version is limpet's own, for the annotations.
func New(module []byte, version string) (v1.Image, error) {
	content, err := newLayer(module)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: content, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "limpet image"},
	})
	if err != nil {
		return nil, err
	}
	if image, err = platform(image); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, annotations(version)).(v1.Image), nil
}

// platform says what the image is for, in Go's names, as the specification of OCI images asks.
func platform(image v1.Image) (v1.Image, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = "wasm", "wasip1"
	config.Created = v1.Time{Time: epoch}
	return mutate.ConfigFile(image, config)
}

// annotations are the ones that the specification of OCI images defines.
func annotations(version string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":         "limpet",
		prefix + "description":   "HTTP sessions that stick to their backend, with signed tokens: the filter for Envoy",
		prefix + "version":       version,
		prefix + "source":        "https://github.com/limpet-proxy/limpet",
		prefix + "documentation": "https://github.com/limpet-proxy/limpet/tree/main/docs",
		prefix + "licenses":      "Apache-2.0",
		prefix + "created":       epoch.Format(time.RFC3339),
	}
}
