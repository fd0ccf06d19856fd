package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuild builds the working tree's limpet as a comparison does, and has it compile an example and refuse an input,
// with one process for both and one for each.
func TestBuild(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	readCommand(t, root)
	binary, err := build(root, newEntry, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("kind: Gateway\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := &batch{binary: binary}
	defer b.close()
	good := input{path: filepath.Join(root, "examples", "quickstart"), flags: defaultFlags("envoy")}
	good.objects = []string{"Gateway/quickstart"}
	for name, run := range map[string]runner{"batch": b.run, "process": runProcess(binary)} {
		o, err := observe(run, good, t.TempDir())
		if err != nil {
			t.Fatal(name, err)
		}
		described := o.descriptions["Gateway/quickstart"].value
		if len(o.files) != 3 || len(o.statuses) == 0 || described == nil {
			t.Errorf("%s: of an example come %d files, %d statuses, %v", name, len(o.files), len(o.statuses), described)
		}
		if filter := string(o.files["limpet.wasm"]); filter != embedded["limpet.wasm"] {
			t.Errorf("%s: the filter is %q", name, filter)
		}
		o, err = observe(run, input{path: bad, flags: defaultFlags("plugin")}, t.TempDir())
		if err != nil || o.compiled.Code != 1 || len(o.problems) == 0 || len(o.files) != 0 {
			t.Errorf("%s: of a bad input comes %+v, %v", name, o, err)
		}
		if _, err := observe(run, input{path: bad, flags: flags{target: "nginx"}}, t.TempDir()); err == nil {
			t.Errorf("%s: a target that is none is compared", name)
		}
	}
}

// readCommand reads what newEntry depends on, so that go test does not take an older result when that has changed.
func readCommand(t *testing.T, root string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "cmd", "limpet", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCheckout(t *testing.T) {
	repository, cache := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(repository, "a.txt"), []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "one"},
	} {
		if text, err := exec.Command("git", append([]string{"-C", repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	dir, err := checkout(repository, "HEAD", cache)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "a\n" {
		t.Errorf("%q, %v", text, err)
	}
	if again, err := checkout(repository, "HEAD", cache); err != nil || again != dir {
		t.Errorf("the second time: %s, %v; want %s", again, err, dir)
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
		t.Errorf("the cache has %v, %v; want the tree alone", entries, err)
	}
	_, err = checkout(repository, "no-such-revision", cache)
	if err == nil || !strings.Contains(err.Error(), "no-such-revision") {
		t.Errorf("a revision that is not there: %v", err)
	}
}
