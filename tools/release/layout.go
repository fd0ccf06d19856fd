package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/google/go-containerregistry/pkg/v1/empty"
)

// reference is what an image of the release is called.
func (r *release) reference(name string) string { return r.registry + "/" + name + ":" + r.version }

func (r *release) layoutName(name string) string { return name + "_" + r.version + "_image.tar" }

// named is how "docker load", "podman load" and "ctr images import" know what to call an image.
func named(reference string) layout.Option {
	return layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": reference, "io.containerd.image.name": reference,
	})
}

// writeIndex writes an image of several architectures.
func (r *release) writeIndex(name string, index v1.ImageIndex) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	return r.writeLayout(name, digest, func(p layout.Path) error { return p.AppendIndex(index, named(r.reference(name))) })
}

// writeImage writes an image that is for all architectures.
func (r *release) writeImage(name string, image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	return r.writeLayout(name, digest, func(p layout.Path) error { return p.AppendImage(image, named(r.reference(name))) })
}

// writeLayout writes an OCI layout as a tar, and notes the digest.
func (r *release) writeLayout(name string, digest v1.Hash, add func(layout.Path) error) error {
	dir := filepath.Join(r.work, "layout", name)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := add(path); err != nil {
		return err
	}
	files, err := readFolder(dir)
	if err != nil {
		return err
	}
	archive, err := packTar(files)
	if err != nil {
		return err
	}
	r.digests = append(r.digests, imageDigest{r.reference(name), digest.String(), r.layoutName(name)})
	return r.write(r.layoutName(name), archive)
}

// readFolder reads all files below a folder, by name.
func readFolder(dir string) (all []file, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, file{filepath.ToSlash(inside), 0o644, data})
		return err
	})
	sortFiles(all)
	return all, err
}

func sortFiles(files []file) {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
}
