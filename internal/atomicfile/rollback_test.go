package atomicfile

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReplaceAllRestores makes the rename of the last of three files fail, for the staged file is gone by then: the
// first, which was there before, is as it was, and the second, which was not, is not.
func TestReplaceAllRestores(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "limpet.wasm"), "before", 0o600)
	put(t, filepath.Join(dir, "envoy.yaml"), "before", 0o644)
	files := []File{
		{"limpet.wasm", []byte("after"), 0o644},
		{"plugin.json", []byte("after"), 0o644},
		{"envoy.yaml", []byte("after"), 0o644},
	}
	staged := stageAll(t, dir, files)
	if err := os.Remove(staged[2]); err != nil {
		t.Fatal(err)
	}
	if err := replaceAll(dir, files, staged); err == nil {
		t.Fatal("a file that is gone was put into its place")
	}
	wantFiles(t, dir, map[string]string{"limpet.wasm": "before", "envoy.yaml": "before"})
	if info, err := os.Stat(filepath.Join(dir, "limpet.wasm")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestReplaceAllAboveFolder has a folder come into the way after the files were staged: it stays, and so does the rest.
func TestReplaceAllAboveFolder(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "before", 0o644)
	files := []File{{"a", []byte("after"), 0o644}, {"b", []byte("after"), 0o644}}
	staged := stageAll(t, dir, files)
	put(t, filepath.Join(dir, "b", "inside"), "stays", 0o644)
	if err := replaceAll(dir, files, staged); err == nil {
		t.Fatal("a file took the place of a folder with something in it")
	}
	wantFiles(t, dir, map[string]string{"a": "before", "b/inside": "stays", filepath.Base(staged[1]): "after"})
}

// TestReplaceAll leaves nothing but the files.
func TestReplaceAll(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), "before", 0o644)
	if err := os.Symlink("a", filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	files := []File{{"a", []byte("1"), 0o644}, {"b", []byte("2"), 0o644}, {"c", []byte("3"), 0o644}}
	if err := replaceAll(dir, files, stageAll(t, dir, files)); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"a": "1", "b": "2", "c": "3"})
}

func stageAll(t *testing.T, dir string, files []File) []string {
	t.Helper()
	var staged []string
	for _, f := range files {
		path, err := stage(dir, f.Name, bytes.NewReader(f.Data), f.Mode, nil)
		if err != nil {
			t.Fatal(err)
		}
		staged = append(staged, path)
	}
	return staged
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// wantFiles compares all files below a folder, by their paths in it.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		text, err := os.ReadFile(path)
		got[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, text := range got {
		names = append(names, name)
		if want[name] != text {
			t.Errorf("%s holds %q, want %q", name, text, want[name])
		}
	}
	for name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("%s is gone; there are %v", name, names)
		}
	}
}
