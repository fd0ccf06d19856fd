package compiler

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// standIn is a proxy-wasm module that accepts any configuration, for Envoy's validation starts plugins and the real
// one may not have been built. It exports a memory and
//
//	proxy_abi_version_0_2_1(), proxy_on_memory_allocate(size) = 1024, proxy_on_context_create(id, parent),
//	proxy_on_vm_start(id, size) = 1, proxy_on_configure(id, size) = 1
const standIn = "0061736d0100000001140460000060017f017f60027f7f0060027f7f017f03060500010203030503010001078201" +
	"06066d656d6f727902001770726f78795f6162695f76657273696f6e5f305f325f3100001870726f78795f6f6e5f" +
	"6d656d6f72795f616c6c6f6361746500011770726f78795f6f6e5f636f6e746578745f6372656174650002117072" +
	"6f78795f6f6e5f766d5f737461727400031270726f78795f6f6e5f636f6e66696775726500040a17050200" +
	"0b05004180080b02000b040041010b040041010b"

// minBootstraps is how many cases have a bootstrap at least.
const minBootstraps = 170

// TestEnvoyAcceptsGoldens runs Envoy's own validation over every case's bootstrap. ENVOY names the
// Envoy to use. The filter in them is the stand-in, which starts in a tenth of the time; TestFilterTakesGoldens gives
// the plugin configurations to the one that was built.
func TestEnvoyAcceptsGoldens(t *testing.T) {
	envoy := findEnvoy(t)
	module, err := hex.DecodeString(standIn)
	if err != nil {
		t.Fatal(err)
	}
	light := writeTemp(t, "stand-in.wasm", module)
	eachOutput(t, ".envoy.yaml", minBootstraps, func(name string, text []byte) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"dist/limpet.wasm", "/usr/share/limpet/limpet.wasm"} {
				text = bytes.ReplaceAll(text, []byte("filename: "+path), []byte("filename: "+light))
			}
			if native := []byte("filename: liblimpet-0123456789abcdef.so"); bytes.Contains(text, native) {
				text = bytes.ReplaceAll(text, native, []byte("filename: "+findNative(t)))
			}
			if out, err := runEnvoyValidation(t, envoy, text); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	})
}

// findNative gives the native filter, which Envoy loads to check a configuration that names it. 'make test-native' builds it, and
// runs this test again.
func findNative(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../dist/liblimpet.so")
	if err == nil {
		_, err = os.Stat(file)
	}
	switch {
	case err == nil:
		return file
	case os.Getenv("LIMPET_REQUIRE_NATIVE") == "1":
		t.Fatal(err)
	default:
		t.Skip("the native filter is not built; make test-native builds it and runs this")
	}
	return ""
}

// findEnvoy gives the Envoy to use. On a developer's machine without one the test is left out; where ENVOY was
// promised, that is a failure.
func findEnvoy(t *testing.T) string {
	t.Helper()
	envoy := os.Getenv("ENVOY")
	switch {
	case envoy != "":
		return envoy
	case os.Getenv("CI") == "true" || os.Getenv("LIMPET_REQUIRE_ENVOY") == "1":
		t.Fatal("ENVOY is not set: it names the Envoy that checks the golden files (tools/setup.sh envoy prints one)")
	default:
		t.Skip("ENVOY is not set, so no Envoy checks the golden files; make test sets it")
	}
	return ""
}

func writeTemp(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// runEnvoyValidation runs Envoy's validation over a bootstrap, with the keys of the cases that have some.
func runEnvoyValidation(t *testing.T, envoy string, text []byte) (output []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, envoy, "--mode", "validate", "--log-level", "warning", "-c", writeTemp(t, "envoy.yaml", text))
	secret := base64.RawURLEncoding.EncodeToString([]byte(testSecret))
	run.Env = append(os.Environ(),
		`LIMPET_KEYS={"keys":[{"id":"test","secret":"`+secret+`"}]}`, "LIMPET_ROOT="+testRoot)
	return run.CombinedOutput()
}

// TestFilterTakesGoldens gives every golden plugin configuration to the filter that was built, in an Envoy: all of
// them in one chain and so in one start, for starting is what takes the time. A chain with one more that is no good
// shows that such a fault would be found.
func TestFilterTakesGoldens(t *testing.T) {
	envoy, wasm := findEnvoy(t), builtFilter(t)
	var chain []any
	eachOutput(t, ".plugin.json", 180, func(name string, text []byte) {
		chain = append(chain, wasmFilter(name, wasm, string(text)))
	})
	if out, err := runEnvoyValidation(t, envoy, writeChain(t, chain)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	bad := wasmFilter("bad", wasm, `{"version": "limpet.dev/v1", "policies": [{"name": "a b"}]}`)
	if out, err := runEnvoyValidation(t, envoy, writeChain(t, append(chain[:1:1], bad))); err == nil {
		t.Errorf("a bad configuration is taken:\n%s", out)
	}
}

// builtFilter is dist/limpet.wasm.
func builtFilter(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "dist", "limpet.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("LIMPET_REQUIRE_WASM") == "1" {
			t.Fatal(err)
		}
		t.Skip("limpet.wasm has not been built; make test builds it")
	}
	return file
}

type yamlMap = map[string]any

// wasmFilter is the filter as an HTTP filter of its own, off as in every bootstrap.
func wasmFilter(name, wasm, config string) any {
	return yamlMap{"name": name, "disabled": true, "typed_config": yamlMap{
		"@type": "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm",
		"config": yamlMap{
			"name": name, "root_id": "limpet",
			"configuration": yamlMap{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config},
			"vm_config": yamlMap{
				"vm_id": "limpet", "runtime": "envoy.wasm.runtime.v8", "code": yamlMap{"local": yamlMap{"filename": wasm}},
				"environment_variables": yamlMap{"host_env_keys": []any{"LIMPET_KEYS", "LIMPET_ROOT"}},
			},
		},
	}}
}

// writeChain is a bootstrap with these filters on one listener.
func writeChain(t *testing.T, filters []any) []byte {
	t.Helper()
	router := yamlMap{"name": "router", "typed_config": yamlMap{"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}
	text, err := yaml.Marshal(yamlMap{"static_resources": yamlMap{"listeners": []any{yamlMap{
		"name": "all", "address": yamlMap{"socket_address": yamlMap{"address": "127.0.0.1", "port_value": 1}},
		"filter_chains": []any{yamlMap{"filters": []any{yamlMap{"name": "http", "typed_config": yamlMap{
			"@type":       "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
			"stat_prefix": "all", "route_config": yamlMap{"virtual_hosts": []any{}},
			"http_filters": append(filters[:len(filters):len(filters)], router),
		}}}}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
