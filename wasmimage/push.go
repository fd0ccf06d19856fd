package wasmimage

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Destination is where to push an image.
type Destination struct {
	// Reference is REGISTRY/REPOSITORY[:TAG]; the registry must be named, the tag is "latest" by default.
	Reference string
	// Insecure allows plain HTTP, to a registry on this machine only.
	Insecure bool
}

// Check gives an error when the reference is not one, or Insecure is asked for a registry elsewhere.
func (d Destination) Check() error {
	_, err := d.parse()
	return err
}

// parse is the tag to push to.
func (d Destination) parse() (name.Tag, error) {
	tag, err := name.NewTag(d.Reference, name.WithDefaultRegistry(""))
	switch {
	case err != nil:
		return tag, fmt.Errorf("%q: must be REGISTRY/REPOSITORY[:TAG]", d.Reference)
	case tag.RegistryStr() == "":
		return tag, fmt.Errorf("%q: must begin with the registry's name, such as ghcr.io/", d.Reference)
	case d.Insecure && !onThisMachine(tag.RegistryStr()):
		return tag, fmt.Errorf(
			"%q: plain HTTP is for registries on this machine (localhost, 127.0.0.0/8, ::1) only",
			d.Reference,
		)
	default:
		return tag, nil
	}
}

// Push pushes an image, and with it its bill of materials unless that is empty. Credentials are those that docker
// and podman use. It gives the image's reference by digest: REGISTRY/REPOSITORY@sha256:...
func Push(ctx context.Context, image v1.Image, sbom []byte, to Destination) (string, error) {
	tag, err := to.parse()
	if err != nil {
		return "", err
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain),
		remote.WithTransport(guarded{remote.DefaultTransport, to.Insecure}), remote.WithUserAgent("limpet"),
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	if err := remote.Write(tag, image, options...); err != nil {
		return "", fmt.Errorf("push %s: %w", tag, err)
	}
	pinned := tag.Context().Digest(digest.String())
	if len(sbom) == 0 {
		return pinned.String(), nil
	}
	if err := pushSBOM(image, sbom, tag.Context(), options); err != nil {
		return "", fmt.Errorf("%s is pushed, but not its bill of materials: %w", pinned, err)
	}
	return pinned.String(), nil
}

// pushSBOM attaches the bill of materials to an image that the repository has.
func pushSBOM(image v1.Image, sbom []byte, to name.Repository, options []remote.Option) error {
	artifact, err := attachment(image, sbom)
	if err != nil {
		return err
	}
	digest, err := artifact.Digest()
	if err != nil {
		return err
	}
	return remote.Write(to.Digest(digest.String()), artifact, options...)
}
