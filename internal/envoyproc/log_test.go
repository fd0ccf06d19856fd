package envoyproc

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLogIsBounded: of a log without end there are two files, which only their owner can read, and the newest line is in one of them.
func TestLogIsBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "envoy.log")
	log, err := NewLog(name)
	if err != nil {
		t.Fatal(err)
	}
	line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
	for range 40 {
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Write([]byte("the newest\n")); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{name, name + ".old"} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || info.Size() > maxLog+2<<20 {
			t.Errorf("%s: %v, %d bytes", file, info.Mode(), info.Size())
		}
	}
	if text, err := os.ReadFile(name); err != nil || !bytes.HasSuffix(text, []byte("\nthe newest\n")) && string(text) != "the newest\n" {
		t.Errorf("%d bytes without the newest line, %v", len(text), err)
	}
	if _, err := NewLog(name); err == nil {
		t.Error("a file is taken that was there")
	}
}
