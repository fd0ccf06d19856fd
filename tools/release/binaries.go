package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/limpet-proxy/limpet/tools/internal/spdx"
)

// platform is what a binary is for, in Go's names.
type platform struct{ os, arch string }

// platforms are those that have binaries; images are for Linux.
var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

func (p platform) String() string { return p.os + "_" + p.arch }

// binary is the path of the program for a platform.
func (r *release) binary(p platform) string { return filepath.Join(r.work, p.String(), "limpet") }

// filters are what "make build" and "make native" have put next to the command, the bill of materials included.
func (r *release) filters() ([]string, error) {
	found, err := filepath.Glob(filepath.Join(r.tree, "cmd/limpet/filters/*limpet*"))
	for _, wanted := range []string{"limpet.wasm", "limpet.spdx.json", shardFile("amd64"), shardFile("arm64")} {
		if _, missing := os.Stat(filepath.Join(r.tree, "cmd/limpet/filters", wanted)); missing != nil && err == nil {
			err = fmt.Errorf("%s is not built: run 'make build'", wanted)
		}
	}
	return found, err
}

// shardFile is the name of the module by which routes have shards, for an architecture.
func shardFile(arch string) string { return "limpet-shard-" + arch + ".so" }

// copyFilters puts the filters into the release as files of their own, for Envoys that load them from a path.
func (r *release) copyFilters() error {
	filters, err := r.filters()
	if err != nil {
		return err
	}
	for _, path := range filters {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.Replace(filepath.Base(path), "limpet.spdx.json", "limpet.wasm.spdx.json", 1)
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// buildBinaries builds the command for all platforms, one after the other: each build has all processors.
func (r *release) buildBinaries() error {
	for _, p := range platforms {
		if err := r.build(p); err != nil {
			return err
		}
		if err := r.writeSBOM(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) build(p platform) error {
	command := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-tags", "kustomize_disable_go_plugin_support",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", r.binary(p), "./cmd/limpet")
	command.Dir, command.Stderr = r.tree, os.Stderr
	command.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS="+smallerBuild())
	if err := command.Run(); err != nil {
		return fmt.Errorf("limpet for %s: %w", p, err)
	}
	return nil
}

// smallerBuild keeps how many packages are built at a time, and nothing else that GOFLAGS may say.
func smallerBuild() string {
	for _, flag := range strings.Fields(os.Getenv("GOFLAGS")) {
		if strings.HasPrefix(flag, "-p=") {
			return flag
		}
	}
	return ""
}

// own is the platform that this program runs on.
func own() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// writeSBOM writes a binary's bill of materials, from what the linker noted in it.
func (r *release) writeSBOM(p platform) error {
	data, err := os.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(r.binary(p))
	if err != nil {
		return err
	}
	of := strings.TrimPrefix(info.GoVersion, "go")
	linked := []spdx.Component{{Name: "stdlib", Version: of, PURL: "pkg:golang/stdlib@" + of}}
	for _, m := range info.Deps {
		linked = append(
			linked,
			spdx.Component{Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version},
		)
	}
	name := "limpet_" + r.version + "_" + p.String()
	text, err := spdx.Marshal(spdx.Subject{
		Name: name, Version: r.version, Digest: fmt.Sprintf("%x", sha256.Sum256(data)), Purpose: "APPLICATION",
	}, linked)
	if err != nil {
		return err
	}
	return r.write(name+".spdx.json", text)
}
