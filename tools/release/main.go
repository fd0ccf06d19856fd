// Command release makes what a release of limpet has, into one folder: archives with binaries, completions and man
// pages, limpet.wasm, images, the chart, install.yaml, bills of materials, checksums, provenance, the manifest for
// krew, and the Go module. "make release VERSION=v1.2.3" runs it. Equal commits give equal bytes, wherever they are
// built; only signatures differ. With -push it sends images and chart to a registry instead.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// release is one that is being made.
type release struct {
	// version has a v in front, as Go modules' have; number has none, as charts' have.
	version, number string
	// tree is the root of the working tree, out where files go, work where they are made.
	tree, out, work string
	// deploy is where 'make deploy' has put the chart and install.yaml.
	deploy string
	// registry is where images will be, such as ghcr.io/limpet-proxy.
	registry string
	// base and envoyBase are images by digest that ours are built on; empty for none.
	base, envoyBase string
	// envoy is a program for the Envoy image where there is no base.
	envoy string
	// builder says who built it, for the provenance.
	builder string
	// key is a file with a private key, or empty.
	key string
	// only is the one step that is taken; empty for all.
	only string
	// digests are those of images, by reference.
	digests []imageDigest
}

var versionForm = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func main() {
	var r release
	var push, insecure bool
	var local string
	flag.StringVar(&r.version, "version", "", "the release's `VERSION`, such as v1.2.3")
	flag.StringVar(
		&r.deploy,
		"deploy",
		"dist/deploy",
		"the `FOLDER` where 'make deploy' has put the chart and install.yaml",
	)
	flag.StringVar(&r.out, "out", "dist/release", "the `FOLDER` for what is made; what is in it is removed")
	flag.StringVar(&r.registry, "registry", "ghcr.io/limpet-proxy", "`REGISTRY/PREFIX` of images")
	flag.StringVar(&r.base, "base", "", "build the image of limpet on `IMAGE@DIGEST` (default: on nothing)")
	flag.StringVar(&r.envoyBase, "envoy-base", "",
		"build the image of Envoy on `IMAGE@DIGEST` (default: on nothing, with the program of -envoy)")
	flag.StringVar(&r.envoy, "envoy", os.Getenv("ENVOY"), "`PROGRAM` for the image of Envoy where it has no base")
	flag.StringVar(&r.builder, "builder", buildType, "`URI` of who builds")
	flag.StringVar(&r.key, "key", "", "sign with the private key in `FILE` (PEM, PKCS #8: Ed25519 or ECDSA)")
	flag.StringVar(&r.only, "only", "", "take one `STEP` alone, such as module")
	flag.BoolVar(&push, "push", false, "push what is in -out to the registry, and make nothing")
	flag.BoolVar(&insecure, "insecure", false, "with -push: speak plain HTTP, to a registry on this machine only")
	flag.StringVar(&local, "local", "",
		"write the image of limpet for this machine's architecture to `FILE`, for 'docker load', and nothing else")
	flag.Parse()
	if err := r.prepare(); err != nil {
		fail(err)
	}
	if push {
		fail(r.push(context.Background(), os.Stdout, insecure))
		return
	}
	if local != "" {
		fail(r.makeLocal(local))
		return
	}
	fail(r.make())
}

// fail ends the program if there is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) prepare() (err error) {
	if !versionForm.MatchString(r.version) {
		return fmt.Errorf("-version %q: must be as v1.2.3 or v1.2.3-rc.1", r.version)
	}
	r.number = strings.TrimPrefix(r.version, "v")
	if r.tree, err = os.Getwd(); err != nil {
		return err
	}
	r.out, err = filepath.Abs(r.out)
	return err
}

// make makes everything. What comes later has digests of what came before.
func (r *release) make() (err error) {
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "limpet-release"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"filters", r.copyFilters},
		{"binaries", r.buildBinaries},
		{"archives", r.writeArchives},
		{"images", r.writeImages},
		{"chart", r.writeChart},
		{"manifests", r.writeManifests},
		{"krew", r.writeKrew},
		{"module", r.writeModule},
		{"checksums", r.writeChecksums},
		{"provenance", r.writeProvenance},
		{"signatures", r.sign},
	} {
		if r.only != "" && r.only != step.what {
			continue
		}
		fmt.Fprintln(os.Stderr, "release:", step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// write writes a file of the release.
func (r *release) write(name string, data []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644) //nolint:gosec // a release is public
}
