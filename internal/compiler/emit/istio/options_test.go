package istio

import (
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	const image = "oci://example.com/limpet:1"
	for want, o := range map[string]Options{
		"wasm URL: Required value":                                      {},
		`wasm URL: Invalid value: "ftp://x/y": must begin with `:        {WasmURL: "ftp://x/y"},
		`wasm URL: Invalid value: "http://x/y": must begin with `:       {WasmURL: "http://x/y"},
		`wasm URL: Invalid value: "oci://x": must name `:                {WasmURL: "oci://x"},
		`wasm URL: Invalid value: "oci:///x": must name `:               {WasmURL: "oci:///x"},
		`wasm URL: Invalid value: "file://x/y": must name `:             {WasmURL: "file://x/y"},
		`wasm URL: Invalid value: "file:///": must name `:               {WasmURL: "file:///"},
		"wasm sha256: Invalid value":                                    {WasmURL: image, WasmSHA256: "12"},
		`istio phase: Unsupported value: "authn"`:                       {WasmURL: image, Phase: "authn"},
		`istio fail strategy: Unsupported value: "OPEN"`:                {WasmURL: image, FailStrategy: "OPEN"},
		"wasm URL: Forbidden: the filter is the one at the native path": {WasmURL: image, NativePath: "/lib.so"},
		`native path: Invalid value: "lib.so": must be an absolute`:     {NativePath: "lib.so"},
		"native path: Forbidden: with sum, phase":                       {NativePath: "/lib.so", NativePin: true},
		`istio root namespace: Invalid value: "Mesh"`:                   {WasmURL: image, RootNamespace: "Mesh"},
		`istio root namespace: Invalid value: "a/b"`:                    {WasmURL: image, RootNamespace: "a/b"},
	} {
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s...", err, want)
		}
	}
	if o := (Options{NativePath: "/usr/lib/liblimpet.so"}); o.Check() != nil || o.RootNamespace != DefaultRootNamespace {
		t.Errorf("got %v and %+v, want the defaults", o.Check(), o)
	}
	for _, url := range []string{image, "https://example.com/limpet.wasm", "file:///opt/limpet.wasm"} {
		o := Options{WasmURL: url}
		if err := o.Check(); err != nil || o.FailStrategy != DefaultFailStrategy || o.RootNamespace != DefaultRootNamespace {
			t.Errorf("%s: got %v and %+v, want the defaults", url, err, o)
		}
	}
}
