// Package harness lets tests run the shipped bin/limpet and dist/limpet.wasm on a real Envoy: it writes
// Gateway API documents, compiles them, starts Envoy and backends on the loopback, sends requests as a client
// with or without a cookie jar, and reads Envoy's counters. Nothing it starts outlives the test process.
package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Shipped are the programs under test: what make leaves in the tree, and the Envoy that ENVOY names.
type Shipped struct {
	// Root is the folder of go.mod; the other fields are absolute paths of files.
	Root, Limpet, Wasm, Envoy string
}

// Find returns the shipped programs. Where one is missing the test is skipped with a message that says what to do,
// or fails where a skipped test would go unseen: with CI=true or LIMPET_REQUIRE_ENVOY=1.
func Find(t testing.TB) Shipped {
	t.Helper()
	root, limpet := Root(t), "limpet"
	if AllShards() {
		limpet = "limpet-sharded"
	}
	found := Shipped{
		Root:   root,
		Limpet: filepath.Join(root, "bin", limpet),
		Wasm:   filepath.Join(root, "dist", "limpet.wasm"),
	}
	for _, path := range []string{found.Limpet, found.Wasm} {
		if _, err := os.Stat(path); err != nil {
			Missing(t, filepath.Base(path)+" is not built")
		}
	}
	envoy, err := exec.LookPath(os.Getenv("ENVOY"))
	if err != nil {
		Missing(t, "the environment variable ENVOY names no program")
	}
	found.Envoy = envoy
	return found
}

// AllShards tells whether the limpet under test makes a table for each shard of the fewest routes: make e2e-shards.
func AllShards() bool { return os.Getenv("LIMPET_SHARDS") == "all" }

// Missing skips a test for which a program is missing, or fails it where that would go unseen.
func Missing(t testing.TB, what string) {
	t.Helper()
	message := what + ": run 'make test', which builds limpet and fetches Envoy"
	if os.Getenv("CI") == "true" || os.Getenv("LIMPET_REQUIRE_ENVOY") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Root is the folder of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working folder")
		}
		dir = parent
	}
}
