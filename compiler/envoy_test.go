package compiler

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// TestEnvoyAcceptsGoldens runs Envoy's own validation over every bootstrap among the golden files. ENVOY names the
// Envoy to use. The filter in them is the stand-in, which starts in a tenth of the time, but for the cases about
// sessions and options, whose plugin configurations differ: there it is the one that was built, if it was.
func TestEnvoyAcceptsGoldens(t *testing.T) {
	envoy := findEnvoy(t)
	built, light := wasmFiles(t)
	files, err := filepath.Glob(filepath.Join("testdata", "*.envoy.yaml"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d bootstraps found, want 100 at least (%v)", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			wasm := light
			if name := filepath.Base(file); strings.HasPrefix(name, "session-") || strings.HasPrefix(name, "option-") {
				wasm = built
			}
			validate(t, envoy, wasm, file)
		})
	}
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

// wasmFiles gives the filter that was built, and the stand-in; both are the latter where none was built.
func wasmFiles(t *testing.T) (built, light string) {
	t.Helper()
	module, err := hex.DecodeString(standIn)
	if err != nil {
		t.Fatal(err)
	}
	light = writeTemp(t, "stand-in.wasm", module)
	built, err = filepath.Abs(filepath.Join("..", "dist", "limpet.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(built); err != nil {
		return light, light
	}
	return built, light
}

func writeTemp(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// validate runs Envoy's validation over a golden file, with the path of limpet.wasm put right.
func validate(t *testing.T, envoy, wasm, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"dist/limpet.wasm", "/usr/share/limpet/limpet.wasm"} {
		text = []byte(strings.ReplaceAll(string(text), "filename: "+path, "filename: "+wasm))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	run := exec.CommandContext(ctx, envoy, "--mode", "validate", "--log-level", "warning", "-c", writeTemp(t, "envoy.yaml", text))
	secret := base64.RawURLEncoding.EncodeToString([]byte(testSecret))
	run.Env = append(os.Environ(),
		`LIMPET_KEYS={"keys":[{"id":"test","secret":"`+secret+`"}]}`, "LIMPET_ROOT="+testRoot)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
