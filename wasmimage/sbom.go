package wasmimage

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// SPDX is the media type of a bill of materials in SPDX's JSON, and the artifact type of its manifest.
const SPDX = "application/spdx+json"

// attachment is a manifest with the bill of materials, which refers to the image as OCI 1.1 has it. The artifact
// type stands in the config's media type, where registries without a field of their own for it look too.
func attachment(image v1.Image, sbom []byte) (v1.Image, error) {
	subject, err := partial.Descriptor(image)
	if err != nil {
		return nil, err
	}
	// Of the image only what identifies it: a subject with annotations is not compared alike everywhere.
	about := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), SPDX)
	artifact, err = mutate.AppendLayers(artifact, static.NewLayer(sbom, SPDX))
	if err != nil {
		return nil, err
	}
	return mutate.Subject(artifact, about).(v1.Image), nil
}
