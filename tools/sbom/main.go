// Command sbom prints the bill of materials of limpet.wasm, in SPDX 2.3 JSON: the Go modules that are linked into it,
// and the toolchain whose libraries are. It runs when the module has just been built; equal builds give equal bytes.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/limpet-proxy/limpet/tools/internal/spdx"
)

func main() {
	wasm := flag.String("wasm", "dist/limpet.wasm", "the module that was built")
	tinygo := flag.String("tinygo", "", "what 'tinygo version' says")
	flag.Parse()
	text, err := generate(*wasm, *tinygo)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
	fmt.Printf("%s\n", text)
}

// generate makes the document for the module in the file.
func generate(wasm, tinygo string) ([]byte, error) {
	module, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	linked, err := toolchain(tinygo)
	if err != nil {
		return nil, err
	}
	modules, err := readModules()
	if err != nil {
		return nil, err
	}
	subject := spdx.Subject{Name: "limpet.wasm", Digest: fmt.Sprintf("%x", sha256.Sum256(module)), Purpose: "LIBRARY"}
	return spdx.Marshal(subject, append(modules, linked...))
}

// readModules reads the Go modules of the filter, as TinyGo sees it; limpet's own is what the document is about.
func readModules() ([]spdx.Component, error) {
	list := exec.Command("go", "list", "-tags", "tinygo,tinygo.wasm,custommalloc", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./filter")
	list.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []spdx.Component
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || seen[path] {
			continue
		}
		seen[path] = true
		all = append(all, spdx.Component{Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version})
	}
	return all, nil
}

var tinygoVersion = regexp.MustCompile(`^tinygo version (\S+) .*using go version go(\S+) and LLVM version (\S+)\)`)

// toolchain is what TinyGo links in: its runtime, Go's standard library and WASI's C library.
func toolchain(version string) ([]spdx.Component, error) {
	v := tinygoVersion.FindStringSubmatch(version)
	if v == nil {
		return nil, fmt.Errorf("%q: not what 'tinygo version' says", version)
	}
	linked, err := readArchives()
	return append([]spdx.Component{
		{Name: "tinygo", Version: v[1], PURL: "pkg:github/tinygo-org/tinygo@v" + v[1]},
		{Name: "stdlib", Version: v[2], PURL: "pkg:golang/stdlib@" + v[2]},
	}, linked...), err
}

// The archives that are linked, by the Debian packages that they are of.
var archives = []struct{ component, source, file string }{
	{"wasi-libc", "wasi-libc", "/usr/lib/wasm32-wasi/libc.a"},
	{"compiler-rt", "libclang-rt-19-dev-wasm32", "/usr/lib/llvm-19/lib/clang/19/lib/wasi/libclang_rt.builtins-wasm32.a"},
}

// readArchives reads the pins of the archives, which setup.sh holds the build to.
func readArchives() (all []spdx.Component, err error) {
	pins, err := os.ReadFile("tools/linked.sha256")
	if err != nil {
		return nil, err
	}
	packages, err := os.ReadFile("tools/packages.txt")
	if err != nil {
		return nil, err
	}
	for _, a := range archives {
		digest := regexp.MustCompile(`(?m)^([0-9a-f]{64})  ` + regexp.QuoteMeta(a.file) + `$`).FindSubmatch(pins)
		version := regexp.MustCompile(`(?m)^#   ` + regexp.QuoteMeta(a.source) + ` (\S+)$`).FindSubmatch(packages)
		if digest == nil || version == nil {
			return nil, fmt.Errorf("%s is not pinned in tools/linked.sha256, or %s not in tools/packages.txt", a.file, a.source)
		}
		all = append(all, spdx.Component{
			Name: a.component, Version: string(version[1]), Digest: string(digest[1]),
			PURL: "pkg:deb/debian/" + a.source + "@" + url.PathEscape(string(version[1])),
		})
	}
	return all, nil
}
