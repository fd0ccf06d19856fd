package harness

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Native says that the tests run on the native filter: LIMPET_FILTER=native. What they ask of Envoy is the same with
// both.
func Native() bool { return os.Getenv("LIMPET_FILTER") == "native" }

// WasmOnly skips a test on the native filter, which lacks what the test is about.
func WasmOnly(t testing.TB, what string) {
	t.Helper()
	if Native() {
		t.Skip("about limpet.wasm alone: " + what)
	}
}

// withFilter adds the flags that choose the filter to a command line of limpet's that makes configuration for Envoy.
func withFilter(args []string) []string {
	if !Native() || len(args) == 0 || strings.Contains(strings.Join(args, " ")+" ", " -t plugin ") {
		return args
	}
	switch args[0] {
	case "compile", "run":
		return append([]string{args[0], "--filter", "native"}, args[1:]...)
	}
	return args
}

// servedFilter are the flags of "limpet serve" that say what every Envoy loads.
func servedFilter(t testing.TB, native bool) []string {
	t.Helper()
	shipped := Find(t)
	if native {
		return []string{"--filter", "native", "--filter-path", filepath.Join(shipped.Root, "dist", "liblimpet.so")}
	}
	return []string{"--filter-path", shipped.Wasm}
}

// RequireShards ends a test where the module by which routes have shards is not beside the filter.
func RequireShards(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(Root(t), "dist", "limpet-shard-1.so")); err != nil {
		Missing(t, "limpet-shard-1.so is not built")
	}
}

// WithoutShards are flags of "limpet serve" that name the filter in a folder without the module by which routes have
// shards.
func WithoutShards(t testing.TB) []string {
	t.Helper()
	flags := servedFilter(t, Native())
	path := &flags[len(flags)-1]
	filter, err := os.ReadFile(*path)
	if err != nil {
		t.Fatal(err)
	}
	*path = filepath.Join(t.TempDir(), filepath.Base(*path))
	if err := os.WriteFile(*path, filter, 0o600); err != nil {
		t.Fatal(err)
	}
	return flags
}

// BrokenShards are such flags with a file in the module's place that no Envoy loads.
func BrokenShards(t testing.TB) []string {
	t.Helper()
	flags := WithoutShards(t)
	module := filepath.Join(filepath.Dir(flags[len(flags)-1]), "limpet-shard-1.so")
	if err := os.WriteFile(module, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	return flags
}

// filterName is the filter's name in the chain.
func filterName() string {
	if Native() {
		return "limpet-native"
	}
	return "limpet"
}

// FilterType is the type of the filter's configuration.
func FilterType() string {
	if Native() {
		return "type.googleapis.com/envoy.extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter"
	}
	return "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"
}

// FilterState is the access log format of what the filter publishes of a request under a name.
func FilterState(name string) string {
	if !Native() {
		name = "wasm." + name
	}
	return "%FILTER_STATE(" + name + ":PLAIN)%"
}

// EmptyHeader is the value of a session header that is taken away: Envoy's interface for modules can't set an empty
// one, so the native filter sets an empty list.
func EmptyHeader() string {
	if Native() {
		return ","
	}
	return ""
}

// The namespaces of the filters' counters. Tests name all counters as limpet.wasm does.
const (
	wasmNamespace   = "wasmcustom"
	nativeNamespace = "dynamicmodulescustom"
)

// ownCounters puts the native filter's namespace into a pattern.
func ownCounters(pattern string) string {
	if Native() {
		return strings.ReplaceAll(pattern, wasmNamespace, nativeNamespace)
	}
	return pattern
}

// usualCounter is a counter's name with limpet.wasm.
func usualCounter(name string) string {
	if rest, own := strings.CutPrefix(name, nativeNamespace); own {
		return wasmNamespace + rest
	}
	return name
}
