package message

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestExplain: what Go says of files and hosts is told in limpet's words, wherever it is in an error.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none.txt")
	_, notThere := os.Open(missing)
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	_, isFolder := io.ReadAll(folder)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	_, refused := net.Dial("tcp", at)
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "a.invalid", Err: "no such host"}}
	for want, err := range map[string]error{
		missing + ": there is no such file or folder":                                         notThere,
		"--keys: " + missing + ": there is no such file or folder; say --keys":                fmt.Errorf("--keys: %w; say --keys", notThere),
		dir + ": is a folder, not a file":                                                     fmt.Errorf("%s: %w", dir, isFolder),
		"http://" + at + "/a: " + at + ": nothing answers there: connection refused":          fmt.Errorf("http://%s/a: %w", at, refused),
		"a.invalid: is no host's name here\n" + missing + ": there is no such file or folder": errors.Join(unknown, notThere),
		"another": errors.New("another"),
	} {
		if got := Explain(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
