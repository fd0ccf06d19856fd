package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/harness"
	"github.com/tetratelabs/wazero"
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

// How many requests TestMemoryFlat sends before and while it watches the memory.
const (
	warmUp  = 30_000
	watched = 300_000
)

// TestMemoryFlat sends requests of every sort (pinned, new, forged, to be renewed, many cookies) and wants
// not one page more of linear memory after the warm-up. It runs alone, before the parallel tests.
func TestMemoryFlat(t *testing.T) {
	pods := harness.QuietBackends(t, "a", "b", "c")
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"))
	envoy := harness.Run(t, harness.Deployment{Documents: documents, Workers: 2})
	requests := mixedRequests(t, envoy, pods)
	send := func(count int) {
		envoy.Blast(t, count, func(i int, buf []byte) []byte {
			return append(buf, requests[i%len(requests)]...)
		}, func(i int, head harness.Head) {
			if !head.OK() {
				t.Errorf("request %d: %s", i, head)
			}
		})
	}
	send(warmUp)
	linear, resident := envoy.Stat(t, "wasmcustom.limpet_memory_bytes"), envoy.ResidentKB(t)
	begin := time.Now()
	send(watched)
	linearAfter, residentAfter := envoy.Stat(t, "wasmcustom.limpet_memory_bytes"), envoy.ResidentKB(t)
	t.Logf("%d requests in %.1f s: linear memory %d -> %d bytes, Envoy's resident memory %d -> %d kB",
		watched, time.Since(begin).Seconds(), linear, linearAfter, resident, residentAfter)
	if linear == 0 || linearAfter != linear {
		t.Errorf("linear memory went from %d to %d bytes", linear, linearAfter)
	}
	if grown := residentAfter - resident; grown > 20_000 {
		t.Errorf("Envoy's resident memory grew by %d kB", grown)
	}
	wantNoTrap(t, envoy)
	if outcomes := envoy.Outcomes(t, "cart"); outcomes["pinned"] < watched/4 || outcomes["new"] == 0 || outcomes["bad-signature"] == 0 {
		t.Errorf("the mixture was not what it should be: %v", outcomes)
	}
}

// mixedRequests are the bytes of 997 different requests, half of them of sessions under way.
func mixedRequests(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) [][]byte {
	t.Helper()
	stranger := harness.NewRing("first")
	scope := envoy.Policy(t, "cart").Scope
	var all [][]byte
	for i := range 997 {
		address := pods[i%len(pods)].Address
		path, line := "/cart", ""
		switch i % 10 {
		case 0:
		case 1:
			line = cookieLine("cart", stranger.Mint(t, scope, address, harness.Dates{}))
		case 2:
			line = cookieLine("cart", fmt.Sprintf("rubbish-%d", i))
		case 3:
			path, line = "/x-cart", "x-cart: "+mint(t, envoy, "x-cart", address, harness.Dates{})
		case 4:
			line = "Cookie: a=1; b=2; cart=x; cart=" + mint(t, envoy, "cart", address, harness.Dates{}) + "; c=3"
		default:
			line = cookieLine("cart", mint(t, envoy, "cart", address, harness.Dates{}))
		}
		head := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\n", path)
		if line != "" {
			head += line + "\r\n"
		}
		all = append(all, slices.Concat([]byte(head), []byte("\r\n")))
	}
	return all
}
