package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/digest"
)

// The builds of the filter.
const (
	filterWasm   = "wasm"
	filterNative = "native"
)

// nativeArchs are those that the native filter is built for.
var nativeArchs = []string{"amd64", "arm64"}

// filterFlags say which build of the filter Envoy loads, and from where.
type filterFlags struct {
	build string // "native-ARCH" for one that is not for this machine
	arch  string // of the native filter, once it is checked
	place string
}

// register adds the flags. where says what holds without a path.
func (f *filterFlags) register(flags *pflag.FlagSet, where string) {
	flags.StringVar(
		&f.build,
		"filter",
		filterWasm,
		"which build of the filter Envoy loads, `wasm|native`, or native-amd64 or\nnative-arm64 for Envoys of other "+
			"machines (docs/native.md)",
	)
	flags.StringVar(&f.place, "filter-path", "", "`PATH` at which Envoy finds limpet.wasm or liblimpet.so\n("+where+")")
}

// checkFlags refuses flags that would have no effect.
func (f *filterFlags) checkFlags() error {
	builds := []string{filterWasm, filterNative}
	for _, arch := range nativeArchs {
		builds = append(builds, filterNative+"-"+arch)
	}
	if err := checkChoice("filter", f.build, builds...); err != nil {
		return err
	}
	_, arch, has := strings.Cut(f.build, "-")
	switch extension := filepath.Ext(f.place); {
	case extension == ".so" && !f.isNative():
		return usagef("--filter-path %s: a native filter needs --filter native", f.place)
	case extension == ".wasm" && f.isNative():
		return usagef("--filter-path %s: --filter %s needs a liblimpet.so", f.place, f.build)
	case has && f.place != "":
		return usagef("--filter %s chooses among limpet's own files, and --filter-path names another", f.build)
	case f.isNative() && f.place == "":
		f.arch = cmp.Or(arch, runtime.GOARCH)
		if !slices.Contains(nativeArchs, f.arch) {
			return usagef("--filter native: there is none for %s: name a file with --filter-path", f.arch)
		}
	}
	return nil
}

// checkFilter refuses flags of the filter that have no effect with a target.
func (f *configFlags) checkFilter(target compiler.Target) error {
	switch {
	case target == compiler.TargetEnvoy:
		return nil
	case target == compiler.TargetPlugin && f.filter.isNative():
		return usagef("--filter has no effect with -t %s, which writes the filter's configuration alone", target)
	case target == compiler.TargetPlugin && f.filter.place != "":
		return usagef(
			"--filter-path has no effect with -t %s, which writes the filter's configuration alone: leave it out",
			target,
		)
	case !f.filter.isNative() && f.filter.place != "":
		return usagef("--filter-path has no effect with -t %s, whose proxies fetch limpet.wasm: name it with --wasm-url "+
			"in place of --filter-path", target)
	case f.filter.isNative():
		return f.checkNative(target)
	}
	return nil
}

// checkNative refuses flags that --filter native excludes, for targets with a control plane of their own.
func (f *configFlags) checkNative(target compiler.Target) error {
	if f.module.url != "" {
		return usagef("--wasm-url has no effect with --filter native")
	}
	for _, key := range slices.Sorted(maps.Keys(f.istio.settings)) {
		if key != istioRootNamespace { // the others are about plugins
			return usagef("--istio %s has no effect with --filter native", key)
		}
	}
	if !filepath.IsAbs(f.filter.place) {
		return usagef(
			"-t %s --filter native needs --filter-path: the absolute path of liblimpet.so in the proxies' image",
			target,
		)
	}
	return nil
}

func (f *filterFlags) isNative() bool { return strings.HasPrefix(f.build, filterNative) }

// nativePath is where proxies have the native filter; empty for one that limpet writes.
func (f *filterFlags) nativePath() string {
	if f.isNative() {
		return f.place
	}
	return ""
}

// judgeEnvoy says why an Envoy of a version, with some extensions, can't or may not load the filter; empty if it can.
func (f *filterFlags) judgeEnvoy(envoyVersion string, extensions []string) string {
	if !f.isNative() {
		return ""
	}
	fault, doubt := filtermodule.JudgeEnvoy(envoyVersion)
	return cmp.Or(filtermodule.JudgeExtensions(extensions), fault, doubt)
}

// what is the name of the filter's file in messages.
func (f *filterFlags) what() string {
	if f.isNative() {
		return "liblimpet.so"
	}
	return wasmName
}

// file is the filter as limpet writes it. A native one is named after its content: the dynamic loader does not load a
// second file of a name.
func (f *filterFlags) file() (atomicfile.File, error) {
	if !f.isNative() {
		data, err := readModule()
		return atomicfile.File{Name: wasmName, Data: data, Mode: 0o644}, err
	}
	data, err := readNative(f.arch)
	return atomicfile.File{Name: "liblimpet-" + digest.OfBytes(data)[:16] + ".so", Data: data, Mode: 0o644}, err
}

// name is the name of the file.
func (f *filterFlags) name() (string, error) {
	if !f.isNative() {
		return wasmName, nil // without a look at what is embedded, which "limpet check" does not need
	}
	file, err := f.file()
	return file.Name, err
}

// pathUnder is where Envoy shall find the filter: an absolute path, for Envoy may start in any folder.
func (f *filterFlags) pathUnder(dir string) (string, error) {
	if f.place != "" {
		return f.place, nil
	}
	name, err := f.name()
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(dir, name))
}
