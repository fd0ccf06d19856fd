package inputfiles

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// writeTree makes a folder with files, each with its own name as content, and goes there.
func writeTree(t *testing.T, files ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRead(t *testing.T) {
	writeTree(t, "b/z.yaml", "b/a.yml", "b/c/d.json", "b/notes.txt", "b/c/UPPER.YAML", "single.txt", "a.yaml")
	for target, link := range map[string]string{"../a.yaml": "b/link.yaml", "b": "current"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"b"}, "b/a.yml b/c/d.json b/link.yaml b/z.yaml"},
		{[]string{"b", "b/"}, "b/a.yml b/c/d.json b/link.yaml b/z.yaml"},
		{[]string{"current"}, "current/a.yml current/c/d.json current/link.yaml current/z.yaml"},
		{[]string{"single.txt", "a.yaml"}, "single.txt a.yaml"},
		{[]string{"./a.yaml", "a.yaml", "b/../a.yaml"}, "./a.yaml"},
		{[]string{"b/*.yaml", "b/c/d.json,single.txt,"}, "b/link.yaml b/z.yaml b/c/d.json single.txt"},
		{[]string{"b/*.yaml,a.yaml"}, "b/link.yaml b/z.yaml a.yaml"},
		{[]string{"b/z.yaml", "b", "-", "-"}, "b/z.yaml b/a.yml b/c/d.json b/link.yaml <stdin>"},
	} {
		sources, err := Read(c.paths, strings.NewReader("from stdin"))
		if err != nil {
			t.Errorf("%v: %v", c.paths, err)
		}
		var names []string
		for _, s := range sources {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: got %s, want %s", c.paths, got, c.want)
		}
	}
}

func TestReadContent(t *testing.T) {
	writeTree(t, "a.yaml")
	sources, err := Read([]string{"a.yaml", "-"}, strings.NewReader("from stdin"))
	if err != nil || len(sources) != 2 || string(sources[0].Data) != "a.yaml" || string(sources[1].Data) != "from stdin" {
		t.Errorf("got %q, %v", sources, err)
	}
}

// TestReadErrors wants every error at once.
func TestReadErrors(t *testing.T) {
	writeTree(t, "empty/notes.txt", "a.yaml")
	_, err := Read([]string{"gone.yaml", "g/*.yaml", "empty", "a.yaml"}, nil)
	if err == nil || !strings.Contains(err.Error(), "gone.yaml: there is no such file or folder\ng/*.yaml: no file matches this pattern\n") ||
		!strings.Contains(err.Error(), "empty: no *.yaml, *.yml or *.json file below this folder") {
		t.Errorf("got %v", err)
	}
}

// TestReadReadsNoMoreThanItNeeds reads from a source without an end.
func TestReadReadsNoMoreThanItNeeds(t *testing.T) {
	sources, err := Read([]string{"-"}, endless{})
	if err != nil || len(sources) != 1 || len(sources[0].Data) != read.MaxFile+1 {
		t.Fatalf("%d sources, %v", len(sources), err)
	}
	_, err = compiler.Compile(sources, compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "w"}})
	if err == nil || !strings.Contains(err.Error(), "<stdin>: the file is too large") {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	copy(p, slices.Repeat([]byte{'#'}, len(p)))
	return len(p), nil
}

var _ io.Reader = endless{}

// TestReadGoesOn: what can't be had of a folder, for whoever has a part of it made it so, holds up no other file. All of it was an
// error before, which stopped everybody's changes.
func TestReadGoesOn(t *testing.T) {
	writeTree(t, "d/0/a.yaml", "d/m.yaml", "d/z.yaml")
	for name, target := range map[string]string{"d/0/gone.yaml": "nowhere", "d/0/loop.yaml": "loop.yaml", "d/0/null.yaml": os.DevNull} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	sources, err := Read([]string{"d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sources {
		got = append(got, strings.TrimSuffix(s.Name+" "+s.Problem, " "))
	}
	want := []string{
		"d/0/a.yaml", "d/0/gone.yaml can't be read: there is no such file or folder",
		"d/0/loop.yaml can't be read: too many levels of symbolic links", "d/0/null.yaml can't be read: not a regular file",
		"d/m.yaml", "d/z.yaml",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if seen := NewWatcher("d").takeSnapshot().files; seen["d/z.yaml"].size == 0 {
		t.Errorf("only these are watched: %v", seen)
	}
}
