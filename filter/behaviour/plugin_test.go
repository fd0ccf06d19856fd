// Package behaviour holds the filter's behaviour tests. Each runs on every build of the engine: as Go, as the shipped
// limpet.wasm under wazero, as the shipped native module in a host of its own, and as that in a real
// Envoy.
package behaviour

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// realProxy is a filter in a real proxy, so that nothing around it need be played.
type realProxy interface {
	exchange(w *world, route, cluster string, h [][2]string) (result, error)
}

// builds are the builds of the engine. Of the native module there are four: the one that ships for this machine, one that
// fills memory with rubbish as soon as it should not be used any more, one that sanitizers watch, and the one that ships
// for arm64, in qemu.
var builds = []struct {
	name  string
	start start
}{
	{"go", startGo},
	{"go, policies in routes", travelling(startGo)},
	{"go, keys in routes", ringless(startGo)},
	{"wasm", startWasm},
	{"wasm, policies in routes", travelling(startWasm)},
	{"wasm, keys in routes", ringless(startWasm)},
	{"module", startModule("liblimpet.so")},
	{"module, policies in routes", travelling(startModule("liblimpet.so"))},
	{"poisoned, policies in routes", travelling(startModule("native/poisoned/liblimpet.so"))},
	{"poisoned, keys in routes", ringless(startModule("native/poisoned/liblimpet.so"))},
	{"sanitized, policies in routes", travelling(startModule("native/sanitized/liblimpet.so"))},
	{"poisoned", startModule("native/poisoned/liblimpet.so")},
	{"sanitized", startModule("native/sanitized/liblimpet.so")},
	{"arm64", startModule("native/arm64/liblimpet.so")},
	{"envoy", startEnvoy},
}

// eachBuild runs the test on every build.
func eachBuild(t *testing.T, test func(t *testing.T, start start)) {
	t.Helper()
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) { test(t, b.start) })
	}
}

// each runs the test on every build with one configuration.
func each(t *testing.T, config string, test func(t *testing.T, w *world)) {
	t.Helper()
	eachBuild(t, func(t *testing.T, start start) { test(t, newWorld(t, config, start)) })
}

// start loads a configuration; clock and env are what the plugin sees. The error has the plugin's log.
type start func(t *testing.T, config string, env map[string]string, clock func() time.Time) (wasmtest.Filter, error)

// attempts is how often a proxy has sent a request, 0 where it does not say.
func attempts(properties map[string]string) int {
	if text := properties[wasmtest.AttemptsProperty]; text != "" {
		return int(binary.LittleEndian.Uint64([]byte(text)))
	}
	return 0
}

func first(lines [][2]string, name string) (string, bool) {
	for _, kv := range lines {
		if kv[0] == name {
			return kv[1], true
		}
	}
	return "", false
}

func values(lines [][2]string, name string) (out []string) {
	for _, kv := range lines {
		if kv[0] == name {
			out = append(out, kv[1])
		}
	}
	return out
}

func without(lines [][2]string, name string) (out [][2]string) {
	for _, kv := range lines {
		if kv[0] != name {
			out = append(out, kv)
		}
	}
	return out
}
