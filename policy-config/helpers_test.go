package policyconfig

import (
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files and schema.json again")

// testSecret is a key's secret, 32 bytes; encodedSecret is how a document has it.
const testSecret = "nobody-may-ever-read-these-bytes"

var encodedSecret = base64.RawURLEncoding.EncodeToString([]byte(testSecret))

// read gives a file's text.
func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// files gives the names that a pattern matches, at least so many.
func files(t testing.TB, pattern string, least int) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) < least {
		t.Fatalf("%s: %d files, %v; want at least %d", pattern, len(names), err, least)
	}
	return names
}

// golden compares a text with a file, byte by byte.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil { //nolint:gosec // test data
			t.Fatal(err)
		}
		return
	}
	if want := read(t, name); got != want {
		t.Errorf("%s differs (rewrite with -update)\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}
