package wasmtest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// emptyClone makes a checkout in which nothing was built yet the working folder, two folders down.
func emptyClone(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	noError(t, err)
	noError(t, os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o600))
	noError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	t.Chdir(filepath.Join(dir, "a", "b"))
	return dir
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	dir := emptyClone(t)
	if path, ok := Find(); ok {
		t.Errorf("found %s before it was built", path)
	}
	want := filepath.Join(dir, "dist", "limpet.wasm")
	noError(t, os.Mkdir(filepath.Dir(want), 0o700))
	noError(t, os.WriteFile(want, nil, 0o600))
	if path, ok := Find(); !ok || path != want {
		t.Errorf("got %q, %v; want %q", path, ok, want)
	}
}

// recorder is a test that Require ends.
type recorder struct{ message string }

func (*recorder) Helper()                     {}
func (r *recorder) Fatalf(f string, _ ...any) { r.end("fatal: " + f) }
func (r *recorder) Skipf(f string, _ ...any)  { r.end("skip: " + f) }
func (r *recorder) end(message string)        { r.message = message; runtime.Goexit() }
func (r *recorder) run(test func(t TB)) (s string) {
	done := make(chan struct{})
	go func() { defer close(done); test(r) }()
	<-done
	return r.message
}

func TestRequireWithoutModule(t *testing.T) {
	emptyClone(t)
	for _, c := range []struct{ ci, require, want string }{
		{"", "", "skip: "},
		{"false", "0", "skip: "},
		{"true", "", "fatal: "},
		{"", "1", "fatal: "},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("LIMPET_REQUIRE_WASM", c.require)
		message := new(recorder).run(func(t TB) { Require(t) })
		if !strings.HasPrefix(message, c.want) || !strings.Contains(message, "make build") {
			t.Errorf("CI=%q LIMPET_REQUIRE_WASM=%q: %q", c.ci, c.require, message)
		}
	}
}
