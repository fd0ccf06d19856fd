package serve

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestListenOnSocket holds who may connect to a socket, and what is removed for it: what an earlier process has left there, and
// neither another's socket nor anything else.
func TestListenOnSocket(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	leave := func(path string, stale bool) net.Listener {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		if stale {
			_ = l.Close()
		}
		return l
	}
	leave("stale", true)
	defer leave("used", false).Close()
	for _, name := range []string{"file", "@file"} {
		if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", "link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path  string
		mode  fs.FileMode
		wants string // of the error; empty for none
	}{
		{"new", 0o600, ""},
		{"shared", 0o666, ""},
		{"stale", 0o600, ""},
		{"used", 0o600, "used is in use by another process; stop it, or name another path"},
		{"file", 0o600, "file is there and no socket; remove it, or name another path"},
		{"link", 0o600, "link is there and no socket; remove it, or name another path"},
		{"@file", 0o600, "@file is no path: everybody on the machine could connect there; name a file"},
		{"none/socket", 0o600, "no such file or directory"},
		{"", 0o600, "must name the path of a socket, as unix:PATH"},
		{strings.Repeat("a", 100), 0o600, "must have less than 100 bytes"},
	} {
		l, err := ListenOnSocket(c.path, c.mode)
		if (err == nil) != (c.wants == "") || err != nil && !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%s: got %v, want %q", c.path, err, c.wants)
		}
		if err != nil {
			continue
		}
		if info, err := os.Lstat(c.path); err != nil || info.Mode() != fs.ModeSocket|c.mode {
			t.Errorf("%s: %v, %v", c.path, info, err)
		}
		_ = l.Close()
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "mine" {
		t.Errorf("a file is %q now, %v", text, err)
	}
}
