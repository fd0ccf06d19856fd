package wasmtest

import (
	"os"
	"path/filepath"
	"sync"
)

// Find returns the path of the shipped module: dist/limpet.wasm next to the go.mod that is nearest above the working
// folder. ok is false when it was not built.
func Find() (path string, ok bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
	path = filepath.Join(dir, "dist", "limpet.wasm")
	return path, exists(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TB is what Require needs of a testing.TB.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// shipped is the module that the tests of one process share: compiling it takes longer than most tests.
var shipped = sync.OnceValues(func() (*Module, error) {
	path, _ := Find()
	return Load(path)
})

// Require returns the shipped module. When it was not built, the test fails if CI=true or LIMPET_REQUIRE_WASM=1 is in
// the environment, and is skipped with a message otherwise.
func Require(t TB) *Module {
	t.Helper()
	if _, ok := Find(); !ok {
		missing := t.Skipf
		if os.Getenv("CI") == "true" || os.Getenv("LIMPET_REQUIRE_WASM") == "1" {
			missing = t.Fatalf
		}
		missing("dist/limpet.wasm is missing: run make build")
	}
	m, err := shipped()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return m
}
