package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends what was made to the registry, and prints each image by digest: the one that images.txt says, or it is an
// error.
func (r *release) push(ctx context.Context, stdout io.Writer, insecure bool) error {
	text, err := os.ReadFile(filepath.Join(r.out, imagesName))
	if err != nil {
		return fmt.Errorf("%w: run 'make release' first", err)
	}
	options := []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("limpet-release"),
	}
	for line := range strings.Lines(string(text)) {
		pinned, from, _ := strings.Cut(strings.TrimSpace(line), " ")
		digest, err := r.pushOne(pinned, from, insecure, options)
		if err != nil {
			return fmt.Errorf("push %s: %w", pinned, err)
		}
		if !strings.HasSuffix(pinned, "@"+digest.String()) {
			return fmt.Errorf("%s has another digest in %s: %s", from, imagesName, digest)
		}
		fmt.Fprintln(stdout, pinned)
	}
	return nil
}

// pushOne pushes an image's layout, or the chart.
func (r *release) pushOne(pinned, from string, insecure bool, options []remote.Option) (v1.Hash, error) {
	repository, _, _ := strings.Cut(pinned, "@")
	tag, known := r.version, []name.Option{}
	if insecure {
		known = append(known, name.Insecure)
	}
	if strings.HasSuffix(from, ".tgz") {
		tag = r.number
	}
	to, err := name.NewTag(repository+":"+tag, known...)
	if err != nil {
		return v1.Hash{}, err
	}
	if strings.HasSuffix(from, ".tgz") {
		return r.pushChart(to, from, options)
	}
	dir, err := os.MkdirTemp("", "limpet-push")
	if err != nil {
		return v1.Hash{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := exec.Command("tar", "-x", "-C", dir, "-f", filepath.Join(r.out, from)).Run(); err != nil {
		return v1.Hash{}, err
	}
	return pushLayout(to, dir, options)
}

func (r *release) pushChart(to name.Tag, from string, options []remote.Option) (v1.Hash, error) {
	archive, err := os.ReadFile(filepath.Join(r.out, from))
	if err != nil {
		return v1.Hash{}, err
	}
	image, err := r.chartImage(archive)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := remote.Write(to, image, options...); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}

// pushLayout pushes the one image of a layout.
func pushLayout(to name.Tag, dir string, options []remote.Option) (v1.Hash, error) {
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return v1.Hash{}, err
	}
	list, err := all.IndexManifest()
	if err != nil || len(list.Manifests) != 1 {
		return v1.Hash{}, fmt.Errorf("%d images where one ought to be: %w", len(list.Manifests), err)
	}
	about := list.Manifests[0]
	if about.MediaType.IsIndex() {
		index, err := all.ImageIndex(about.Digest)
		if err != nil {
			return v1.Hash{}, err
		}
		return about.Digest, remote.WriteIndex(to, index, options...)
	}
	image, err := all.Image(about.Digest)
	if err != nil {
		return v1.Hash{}, err
	}
	return about.Digest, remote.Write(to, image, options...)
}
