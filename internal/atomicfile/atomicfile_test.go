package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite replaces what can be replaced, with the mode asked for, and leaves no temporary file in any case.
func TestWrite(t *testing.T) {
	longest := strings.Repeat("x", 255)
	for _, c := range []struct {
		name, path string
		before     map[string]string
		after      map[string]string
		fails      string
	}{
		{"a new file", "a", nil, map[string]string{"a": "new"}, ""},
		{"a file", "a", map[string]string{"a": "old", "b": "old"}, map[string]string{"a": "new", "b": "old"}, ""},
		{"a new folder", "x/y/a", nil, map[string]string{"x/y/a": "new"}, ""},
		{"the longest name", longest, nil, map[string]string{longest: "new"}, ""},
		{"a folder in the way", "a", map[string]string{"a/b": "old"}, map[string]string{"a/b": "old"}, "is a folder"},
		{"a file for a folder", "a/b", map[string]string{"a": "old"}, map[string]string{"a": "old"}, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.before {
				put(t, filepath.Join(dir, name), text, 0o644)
			}
			path := filepath.Join(dir, c.path)
			err := Write(path, []byte("new"), 0o600)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q in it", err, c.fails)
			}
			wantFiles(t, dir, c.after)
			if info, err := os.Stat(path); c.fails == "" && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestWriteAll writes all files or none, and takes a folder away again that it made for nothing.
func TestWriteAll(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after map[string]string
		files         []File
		fails         string
	}{
		{
			"two", map[string]string{"out/a": "old"}, map[string]string{"out/a": "1", "out/b": "2"},
			[]File{{"a", []byte("1"), 0o644}, {"b", []byte("2"), 0o644}}, "",
		},
		{"a new folder", nil, map[string]string{"out/a": "1"}, []File{{"a", []byte("1"), 0o644}}, ""},
		{
			"a folder in the way",
			map[string]string{"out/a": "old", "out/b/c": "old"}, map[string]string{"out/a": "old", "out/b/c": "old"},
			[]File{{"a", []byte("1"), 0o644}, {"b", []byte("2"), 0o644}}, "is a folder",
		},
		{
			"no such folder", nil, map[string]string{}, []File{{"a", []byte("1"), 0o644}, {"sub/b", []byte("2"), 0o644}},
			"no such file or directory",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.before {
				put(t, filepath.Join(dir, name), text, 0o644)
			}
			err := WriteAll(filepath.Join(dir, "out"), c.files)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("error %v, want %q in it", err, c.fails)
			}
			wantFiles(t, dir, c.after)
			if _, err := os.Stat(filepath.Join(dir, "out")); len(c.after) == 0 && err == nil {
				t.Error("the folder that was made for nothing is still there")
			}
		})
	}
}
