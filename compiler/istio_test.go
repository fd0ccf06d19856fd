package compiler

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
)

// minIstioGoldens is how many cases write resources for Istio at least.
const minIstioGoldens = 12

// TestIstioDocumentsAreAdmitted holds every document of every case to Istio's CRDs, their schema and their rules.
// Istio's own validators have a module of their own (e2e/istio).
func TestIstioDocumentsAreAdmitted(t *testing.T) {
	server, err := admission.New(admission.Gateway16)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.istio.yaml"))
	if err != nil || len(files) < minIstioGoldens {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range bytes.Split(text, []byte("\n---\n")) {
			var object map[string]any
			if err := yaml.Unmarshal(part, &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if object == nil || object["kind"] == "Service" {
				continue // no sessions, or a kind without a CRD
			}
			for _, e := range server.Admit(convertWholeNumbers(object).(map[string]any)) {
				t.Errorf("%s: %s %s: %v", file, object["kind"], object["metadata"], e)
			}
		}
	}
}

// convertWholeNumbers makes whole numbers of those that JSON has.
func convertWholeNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = convertWholeNumbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = convertWholeNumbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

func TestIstioSettings(t *testing.T) {
	const image = "oci://example.com/limpet:1"
	for want, o := range map[string]Options{
		"wasm URL: Required value":                                {},
		`wasm URL: Invalid value: "ftp://x/y": must begin with `:  {WasmURL: "ftp://x/y"},
		`wasm URL: Invalid value: "http://x/y": must begin with `: {WasmURL: "http://x/y"},
		`wasm URL: Invalid value: "oci://x": must name `:          {WasmURL: "oci://x"},
		`wasm URL: Invalid value: "oci:///x": must name `:         {WasmURL: "oci:///x"},
		`wasm URL: Invalid value: "file://x/y": must name `:       {WasmURL: "file://x/y"},
		`wasm URL: Invalid value: "file:///": must name `:         {WasmURL: "file:///"},
		"wasm sha256: Invalid value":                              {WasmURL: image, WasmSHA256: "12"},
		`istio phase: Unsupported value: "authn"`:                 {WasmURL: image, Istio: istio.Settings{Phase: "authn"}},
		`istio fail strategy: Unsupported value: "OPEN"`:          {WasmURL: image, Istio: istio.Settings{FailStrategy: "OPEN"}},
		`istio root namespace: Invalid value: "Mesh"`:             {WasmURL: image, Istio: istio.Settings{RootNamespace: "Mesh"}},
		`istio root namespace: Invalid value: "a/b"`:              {WasmURL: image, Istio: istio.Settings{RootNamespace: "a/b"}},
	} {
		o.Target = TargetIstio
		if _, err := Compile(nil, o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s...", err, want)
		}
	}
}
