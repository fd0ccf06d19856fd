package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"sigs.k8s.io/yaml"
)

// newRelease is one of this tree with stand-ins for what takes minutes to build: the programs, and Envoy.
func newRelease(t *testing.T) *release {
	t.Helper()
	r := &release{
		version: "v1.2.3", number: "1.2.3", tree: "../..", out: filepath.Join(t.TempDir(), "out"), work: t.TempDir(), registry: "ghcr.io/limpet-proxy",
		builder: "https://example.com/builder", envoy: "/proc/self/exe", deploy: t.TempDir(),
	}
	if err := os.CopyFS(filepath.Join(r.deploy, "chart"), os.DirFS("../../deploy/chart")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(r.deploy, "install.yaml"), "image: ghcr.io/limpet-proxy/limpet:v"+unreleased+"\n") // a stand-in, too
	for _, p := range platforms {
		writeFile(t, r.binary(p), "program for "+p.String())
	}
	writeFile(t, filepath.Join(r.out, "limpet.wasm"), "\x00asm\x01\x00\x00\x00")
	for _, arch := range []string{"amd64", "arm64"} {
		writeFile(t, filepath.Join(r.out, shardFile(arch)), "module for "+arch)
	}
	return r
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// layerFiles are the files of an image's layers, with their modes.
func layerFiles(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	all := map[string]*tar.Header{}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		stream, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(stream); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			all[header.Name] = header
		}
	}
	return all
}

// images are those of an index, by architecture.
func images(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]v1.Image{}
	for _, m := range list.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		all[m.Platform.Architecture] = image
	}
	return all
}

// TestControllerImage: it is for both architectures, has the program and nothing else, and runs it as a user who is not root.
func TestControllerImage(t *testing.T) {
	r := newRelease(t)
	index, err := r.makeController()
	if err != nil {
		t.Fatal(err)
	}
	all := images(t, index)
	if err := validate.Index(index); err != nil || len(all) != 2 {
		t.Fatalf("%d architectures, %v", len(all), err)
	}
	for arch, image := range all {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/usr/local/bin/limpet" || config.Architecture != arch {
			t.Errorf("%s: %+v", arch, config.Config)
		}
		files := layerFiles(t, image)
		if f := files[programPath]; len(files) != 4 || // three folders
			f == nil || f.Mode != 0o755 || f.Uid != 0 {
			t.Errorf("%s: %v", arch, files)
		}
	}
	again, err := newRelease(t).makeController()
	if err != nil {
		t.Fatal(err)
	}
	one, _ := index.Digest()
	if other, _ := again.Digest(); one != other {
		t.Errorf("equal programs make unequal images: %s, %s", one, other)
	}
}

// TestLocalImage: the archive for a cluster without a registry has one image, this machine's, under the name that it is asked for by.
func TestLocalImage(t *testing.T) {
	r := newRelease(t)
	at := filepath.Join(t.TempDir(), "deploy/image.tar")
	if err := r.writeLocal(at); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(r.reference("limpet"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath(at, &tag)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil || config.Architecture != runtime.GOARCH || config.Config.User != nonRoot || layerFiles(t, image)[programPath] == nil {
		t.Errorf("%+v, %v", config, err)
	}
}

// TestImageOnABase: a base is named by its digest, and each architecture gets the base's own layers.
func TestImageOnABase(t *testing.T) {
	at := startRegistry(t)
	base := v1.ImageIndex(empty.Index)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := random.Image(100, 1)
		if err != nil {
			t.Fatal(err)
		}
		base = mutate.AppendManifests(base, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	tag, err := name.NewTag(at + "/base:latest")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, base); err != nil {
		t.Fatal(err)
	}
	digest, err := base.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r := newRelease(t)
	r.base = at + "/base@" + digest.String()
	index, err := r.makeController()
	if err != nil {
		t.Fatal(err)
	}
	bases := images(t, base)
	for arch, image := range images(t, index) {
		layers, err := image.Layers()
		if err != nil || len(layers) != 2 {
			t.Fatalf("%s: %d layers, %v", arch, len(layers), err)
		}
		below, err := bases[arch].Layers()
		if err != nil {
			t.Fatal(err)
		}
		got, _ := layers[0].Digest()
		if want, _ := below[0].Digest(); got != want {
			t.Errorf("%s: the base's layer is %s, want %s", arch, got, want)
		}
	}
	r.base = at + "/base:latest"
	if _, err := r.makeController(); err == nil || !strings.Contains(err.Error(), "what a tag names changes") {
		t.Errorf("a base by tag: %v", err)
	}
}

// TestEnvoyImage: without a base it has the program, its loader and libraries, and the filter.
func TestEnvoyImage(t *testing.T) {
	r := newRelease(t)
	r.envoy = "/bin/sh" // linked as Envoy is
	index, err := r.makeEnvoy([]byte("filter"))
	if err != nil {
		t.Fatal(err)
	}
	all := images(t, index)
	if err := validate.Index(index); err != nil || len(all) != 1 {
		t.Fatalf("%d architectures, %v", len(all), err)
	}
	files := layerFiles(t, all[runtime.GOARCH])
	if files[filterPath] == nil || files[shardPath] == nil || files[shardPath].Size != int64(len("module for "+runtime.GOARCH)) {
		t.Errorf("%v", files)
	}
	program, err := dynamicProgram("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, f := range program {
		names += f.name + " "
	}
	if !strings.Contains(names, "usr/local/bin/envoy") || !strings.Contains(names, "libc.so.6") || !strings.Contains(names, "ld-linux") {
		t.Errorf("it has %s", names)
	}
}

// TestChartIsStamped: chart and manifests of a release name its version, and its image by digest.
func TestChartIsStamped(t *testing.T) {
	r := newRelease(t)
	if err := errors.Join(r.writeImages(), r.writeChart(), r.writeManifests()); err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(strings.NewReader(readFile(t, filepath.Join(r.out, "limpet-1.2.3.tgz"))))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil || strings.Contains(string(text), unreleased) {
			t.Errorf("%s: %v, or it says %s", header.Name, err, unreleased)
		}
	}
	manifests := readFile(t, filepath.Join(r.out, "install.yaml"))
	if !strings.Contains(manifests, "image: "+r.digests[0].pinned()) || strings.Contains(manifests, unreleased) {
		t.Error("install.yaml does not name the image by digest")
	}
}

// TestKrewManifest: it has an archive for each platform, with its checksum.
func TestKrewManifest(t *testing.T) {
	r := newRelease(t)
	for _, p := range platforms {
		writeFile(t, filepath.Join(r.out, r.archiveName(p)), "archive for "+p.String())
	}
	if err := r.writeKrew(); err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		Spec struct {
			Version   string
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(r.out, "krew/limpet.yaml"))), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != "v1.2.3" || len(plugin.Spec.Platforms) != 4 {
		t.Fatalf("%+v", plugin)
	}
	for _, p := range plugin.Spec.Platforms {
		archive := readFile(t, filepath.Join(r.out, filepath.Base(p.URI)))
		if "sha256:"+p.SHA256 != digestOf([]byte(archive)) || p.Bin != "limpet" {
			t.Errorf("%+v", p)
		}
	}
}

// TestVersions: what is no version of a Go module is none of a release.
func TestVersions(t *testing.T) {
	for version, good := range map[string]bool{"v1.2.3": true, "v0.1.0-rc.1": true, "1.2.3": false, "v1.2": false, "": false, "v1.2.3 ": false} {
		if err := (&release{version: version, out: "x"}).prepare(); (err == nil) != good {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestArchives: each platform's archive has its program, completions for all shells, man pages and the licence.
func TestArchives(t *testing.T) {
	r := newRelease(t)
	script := "#!/bin/sh\ncase $1 in completion) echo $2 ;; man) echo page >$2/limpet.1 ;; esac\n"
	writeFile(t, r.binary(own()), script)
	if err := os.Chmod(r.binary(own()), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	if err := r.writeArchives(); err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		unzipped, err := gzip.NewReader(strings.NewReader(readFile(t, filepath.Join(r.out, r.archiveName(p)))))
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for archive := tar.NewReader(unzipped); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(archive)
			if err != nil || !header.ModTime.Equal(epoch) {
				t.Errorf("%s: %v, of %v", header.Name, err, header.ModTime)
			}
			files[header.Name] = string(text)
		}
		if files["limpet"] != readFile(t, r.binary(p)) {
			t.Errorf("%s: another platform's program", p)
		}
		for _, name := range []string{
			"LICENSE", "man/man1/limpet.1", "completions/limpet.bash", "completions/_limpet", "completions/limpet.fish", "completions/limpet.ps1",
			"kubectl_complete-limpet",
		} {
			if files[name] == "" {
				t.Errorf("%s: no %s", p, name)
			}
		}
	}
}
