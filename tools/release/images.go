package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/limpet-proxy/limpet/wasmimage"
)

// nonRoot is the user of images, as that of Google's distroless ones.
const nonRoot = "65532:65532"

// programPath is where the image of limpet has the program.
const programPath = "usr/local/bin/limpet"

// filterPath is where the image of Envoy has the filter, and shardPath the module by which routes have shards, which is
// beside it.
const (
	filterPath = "usr/share/limpet/limpet.wasm"
	shardPath  = "usr/share/limpet/limpet-shard-1.so"
)

// imageDigest is an image of the release: its reference without a digest, and that. File has it.
type imageDigest struct{ Reference, Digest, File string }

// pinned is the reference by digest.
func (i imageDigest) pinned() string {
	return i.Reference[:strings.LastIndexByte(i.Reference, ':')] + "@" + i.Digest
}

// writeImages writes the three images, each as a tar of an OCI layout.
func (r *release) writeImages() error {
	controller, err := r.makeController()
	if err != nil {
		return err
	}
	if err := r.writeIndex("limpet", controller); err != nil {
		return err
	}
	module, err := os.ReadFile(filepath.Join(r.out, "limpet.wasm"))
	if err != nil {
		return err
	}
	filter, err := wasmimage.New(module, r.version)
	if err != nil {
		return err
	}
	if err := r.writeImage("limpet-filter", filter); err != nil {
		return err
	}
	envoy, err := r.makeEnvoy(module)
	if err != nil {
		return err
	}
	return r.writeIndex("limpet-envoy", envoy)
}

// makeController makes the image of limpet for both architectures: the program alone, for a user who is not root.
func (r *release) makeController() (v1.ImageIndex, error) {
	return r.makeIndex(r.base, []string{"amd64", "arm64"}, r.makeControllerFor)
}

func (r *release) makeControllerFor(arch string, image v1.Image) (v1.Image, error) {
	program, err := os.ReadFile(r.binary(platform{"linux", arch}))
	if err != nil {
		return nil, err
	}
	image, err = addFiles(image, []file{{programPath, 0o755, program}}, "limpet "+r.version)
	if err != nil {
		return nil, err
	}
	return configure(
		image,
		arch,
		r.labels("limpet", "compiles Gateway API into Envoy's configuration, and serves it"),
		func(c *v1.Config) {
			c.Entrypoint, c.Cmd = []string{"/" + programPath}, nil
			c.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"} // "limpet" is what Pods of proxies call it
		},
	)
}

// makeEnvoy makes the image of Envoy with the filter in it: on its base for both architectures, or with the program
// of -envoy for that of this machine alone, with the libraries that it needs.
func (r *release) makeEnvoy(module []byte) (v1.ImageIndex, error) {
	if r.envoyBase == "" && r.envoy == "" {
		return nil, errors.New("name a base of Envoy's image with -envoy-base, or a program with -envoy")
	}
	archs, files := []string{"amd64", "arm64"}, []file{{filterPath, 0o644, module}}
	if r.envoyBase == "" {
		program, err := dynamicProgram(r.envoy)
		if err != nil {
			return nil, err
		}
		archs, files = []string{runtime.GOARCH}, append(program, files...)
	}
	return r.makeIndex(r.envoyBase, archs, func(arch string, image v1.Image) (v1.Image, error) {
		shard, err := os.ReadFile(filepath.Join(r.out, shardFile(arch)))
		if err != nil {
			return nil, err
		}
		files := append(slices.Clip(files), file{shardPath, 0o644, shard})
		image, err = addFiles(image, files, "Envoy and limpet's filter "+r.version)
		if err != nil {
			return nil, err
		}
		return configure(image, arch, r.labels("limpet-envoy", "Envoy with limpet's filter in it"), func(c *v1.Config) {
			if r.envoyBase == "" {
				c.Entrypoint = []string{"/usr/local/bin/envoy"}
			}
		})
	})
}

// makeIndex makes an image for each architecture, on the base if there is one.
func (r *release) makeIndex(
	base string,
	archs []string,
	of func(arch string, on v1.Image) (v1.Image, error),
) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range archs {
		on, err := readBase(base, arch)
		if err != nil {
			return nil, err
		}
		image, err := of(arch, on)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	return index, nil
}

// readBase fetches the base for an architecture; an empty name is no base.
func readBase(base, arch string) (v1.Image, error) {
	if base == "" {
		return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), nil
	}
	pinned, err := name.NewDigest(base, name.WithDefaultRegistry(""))
	if err != nil || pinned.Context().RegistryStr() == "" {
		return nil, fmt.Errorf("base %q: must be REGISTRY/REPOSITORY@sha256:DIGEST: what a tag names changes", base)
	}
	return remote.Image(pinned, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
}

// addFiles adds a layer.
func addFiles(image v1.Image, files []file, by string) (v1.Image, error) {
	data, err := packTar(files)
	if err != nil {
		return nil, err
	}
	if data, err = zip(data); err != nil {
		return nil, err
	}
	layer, err := partial.CompressedToLayer(zippedLayer(data))
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: by},
	})
}

// configure sets what an image says of itself.
func configure(image v1.Image, arch string, labels map[string]string, more func(*v1.Config)) (v1.Image, error) {
	c, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, v1.Time{Time: epoch}
	c.Config.User, c.Config.WorkingDir = nonRoot, "/"
	c.Config.Labels = labels
	more(&c.Config)
	if image, err = mutate.ConfigFile(image, c); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels).(v1.Image), nil
}

func (r *release) labels(title, description string) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": title, prefix + "description": description, prefix + "version": r.version,
		prefix + "licenses": "Apache-2.0",
		prefix + "source":   "https://github.com/limpet-proxy/limpet",
	}
}

// dynamicProgram gives a program and the libraries that it is linked with, at the places where its loader looks.
func dynamicProgram(path string) ([]file, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	libraries, err := program.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	all := []file{{"usr/local/bin/envoy", 0o755, data}}
	if at := program.Section(".interp"); at != nil {
		loader, err := at.Data()
		if err != nil {
			return nil, err
		}
		libraries = append(libraries, strings.TrimRight(string(loader), "\x00"))
	}
	slices.Sort(libraries)
	for _, library := range slices.Compact(libraries) {
		f, err := readLibrary(library)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// libraryFolders is where this machine has libraries, in the order in which its loader looks.
var libraryFolders = []string{
	"/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
}

// readLibrary reads one by its name or path.
func readLibrary(library string) (file, error) {
	if filepath.IsAbs(library) {
		data, err := os.ReadFile(library)
		return file{strings.TrimPrefix(library, "/"), 0o755, data}, err
	}
	for _, dir := range libraryFolders {
		if data, err := os.ReadFile(filepath.Join(dir, library)); err == nil {
			return file{strings.TrimPrefix(filepath.Join(dir, library), "/"), 0o755, data}, nil
		}
	}
	return file{}, fmt.Errorf("the library %s is not on this machine", library)
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
