package main

import (
	"cmp"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
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
	build      string
	arch       string
	wasmPath   string
	nativePath string
}

// register adds the flags. Where is what holds without a path.
func (f *filterFlags) register(flags *pflag.FlagSet, where string) {
	flags.StringVar(&f.build, "filter", filterWasm, "which build of the filter Envoy loads: `wasm|native` (docs/native.md)")
	flags.StringVar(&f.arch, "filter-arch", "",
		"the native filter's architecture, that of Envoy's machine: `amd64|arm64`\n(default: limpet's own)")
	flags.StringVar(&f.wasmPath, "wasm-path", "", "`PATH` at which Envoy finds limpet.wasm\n("+where+")")
	flags.StringVar(&f.nativePath, "native-path", "", "with --filter native: `PATH` at which Envoy finds liblimpet.so\n("+where+")")
}

// check refuses what would have no effect.
func (f *filterFlags) check() error {
	if err := checkChoice("filter", f.build, filterWasm, filterNative); err != nil {
		return err
	}
	switch {
	case f.isNative() && f.wasmPath != "":
		return usagef("--wasm-path is for --filter wasm; --native-path names the native filter")
	case !f.isNative() && f.nativePath != "":
		return usagef("--native-path needs --filter native")
	case !f.isNative() && f.arch != "":
		return usagef("--filter-arch needs --filter native")
	case f.nativePath != "" && f.arch != "":
		return usagef("--filter-arch chooses among limpet's own files, and --native-path names another")
	case f.isNative() && f.nativePath == "":
		f.arch = cmp.Or(f.arch, runtime.GOARCH)
		return checkChoice("filter-arch", f.arch, nativeArchs...)
	}
	return nil
}

// pluginFlags are those about limpet.wasm and its place, which have no effect on the native filter.
var pluginFlags = []string{
	"wasm-url", "wasm-sha256", "istio-phase", "istio-priority", "istio-fail-strategy", "istio-traffic-extension", "istio-native-pin",
}

// checkNative refuses what --filter native does not go with.
func (f *configFlags) checkNative(c *cobra.Command, target compiler.Target) error {
	if !f.filter.isNative() || target == compiler.TargetEnvoy {
		return nil
	}
	if target == compiler.TargetPlugin {
		return usagef("--filter has no effect with -t %s, which writes the filter's configuration alone", target)
	}
	for _, name := range pluginFlags {
		if c.Flags().Changed(name) {
			return usagef("--%s has no effect with --filter native", name)
		}
	}
	if path := f.filter.nativePath; !filepath.IsAbs(path) {
		return usagef("-t %s --filter native needs --native-path: the absolute path of liblimpet.so in the proxies' image", target)
	}
	return nil
}

func (f *filterFlags) isNative() bool { return f.build == filterNative }

// judge says what keeps an Envoy from the filter, by its version and its extensions, or what there is to doubt.
func (f *filterFlags) judge(envoyVersion string, extensions []string) string {
	if !f.isNative() {
		return ""
	}
	fault, doubt := filtermodule.JudgeEnvoy(envoyVersion)
	return cmp.Or(filtermodule.JudgeExtensions(extensions), fault, doubt)
}

// what is the filter's file, for people.
func (f *filterFlags) what() string {
	if f.isNative() {
		return "liblimpet.so"
	}
	return wasmName
}

// path is where the operator says that Envoy finds the filter, empty for where limpet writes it.
func (f *filterFlags) path() string { return cmp.Or(f.wasmPath, f.nativePath) }

// file is the filter as limpet writes it. A native one is named after its content, for the dynamic loader takes a file of a
// name that it knows for the one that it has loaded.
func (f *filterFlags) file() (atomicfile.File, error) {
	if !f.isNative() {
		data, err := readModule()
		return atomicfile.File{Name: wasmName, Data: data, Mode: 0o644}, err
	}
	data, err := readNative(f.arch)
	return atomicfile.File{Name: "liblimpet-" + digest.OfBytes(data)[:16] + ".so", Data: data, Mode: 0o644}, err
}

// name is that of the file.
func (f *filterFlags) name() (string, error) {
	if !f.isNative() {
		return wasmName, nil // without a look at what is embedded, which "limpet check" does not need
	}
	file, err := f.file()
	return file.Name, err
}

// pathUnder is where Envoy shall find the filter: an absolute path, for Envoy may start in any folder.
func (f *filterFlags) pathUnder(dir string) (string, error) {
	if path := f.path(); path != "" {
		return path, nil
	}
	name, err := f.name()
	if err != nil {
		return "", err
	}
	return filepath.Abs(filepath.Join(dir, name))
}
