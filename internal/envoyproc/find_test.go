package envoyproc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFind: the environment goes before PATH.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	program := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	variable, onPath := program("variable"), program("envoy")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, path, want, fails string }{
		{variable: variable, path: dir, want: variable},
		{path: dir, want: onPath},
		{variable: "variable", path: dir, want: variable},
		{variable: text, path: dir, fails: `ENVOY: "` + text + `" is not a program`},
		{variable: "gone", path: dir, fails: `ENVOY: "gone" is not a program`},
		{path: filepath.Join(dir, "empty"), fails: "no Envoy on PATH"},
	} {
		t.Setenv("ENVOY", c.variable)
		t.Setenv("PATH", c.path)
		got, err := Find()
		if got != c.want || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}
