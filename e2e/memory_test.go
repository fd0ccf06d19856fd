package e2e

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

func shippedWasm(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(harness.Find(t).Wasm)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// TestNoMallocExport: Envoy calls an export named malloc for its buffers if there is one, and TinyGo's malloc never
// gives them back.
func TestNoMallocExport(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	module, err := runtime.CompileModule(ctx, shippedWasm(t))
	if err != nil {
		t.Fatal(err)
	}
	exports := module.ExportedFunctions()
	if _, ok := exports["proxy_on_memory_allocate"]; !ok {
		t.Error("the module exports no proxy_on_memory_allocate")
	}
	if _, ok := exports["malloc"]; ok {
		t.Error("the module exports malloc")
	}
}

// TestOneHeap: libc's allocator takes the same memory as TinyGo's heap for its own, so nothing in the module may call
// it. It came in once through os.Getenv, and keys read from the environment were overwritten now and then.
func TestOneHeap(t *testing.T) {
	t.Parallel()
	wasm := shippedWasm(t)
	if !bytes.Contains(wasm, []byte("runtime.alloc")) {
		t.Fatal("the module has no names, so this test can't tell")
	}
	for _, name := range []string{"dlmalloc", "sbrk", "libc_getenv"} {
		if bytes.Contains(wasm, []byte(name)) {
			t.Errorf("the module contains libc's %s", name)
		}
	}
}
