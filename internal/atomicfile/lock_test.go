package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLockDir: a folder is locked by one alone, or shared by those that write once.
func TestLockDir(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second func(string) (*DirLock, error)
		both          bool
	}{
		{"both alone", LockDir, LockDir, false},
		{"the first alone", LockDir, lockDirShared, false},
		{"the second alone", lockDirShared, LockDir, false},
		{"both shared", lockDirShared, lockDirShared, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "made")
			first, err := c.first(dir)
			if err != nil {
				t.Fatal(err)
			}
			refusal := dir + ": another limpet writes into this folder"
			second, err := c.second(dir)
			if c.both != (err == nil) || err != nil && !strings.Contains(err.Error(), refusal) {
				t.Errorf("the second gets %v", err)
			}
			if err == nil {
				second.Release()
			}
			first.Release()
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder that was made for nothing is still there")
			}
			again, err := c.second(dir)
			if err != nil {
				t.Fatalf("after the release: %v", err)
			}
			again.Release()
		})
	}
}

// TestRelease keeps a folder that holds something, and one that was there before.
func TestRelease(t *testing.T) {
	dir := t.TempDir()
	used, found := filepath.Join(dir, "used"), filepath.Join(dir, "found")
	if err := os.Mkdir(found, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteAllLocked(used, []File{{"a", []byte("1"), 0o644}}); err != nil {
		t.Fatal(err)
	}
	lock, err := LockDir(found)
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()
	wantFiles(t, used, map[string]string{"a": "1"})
	if _, err := os.Stat(found); err != nil {
		t.Error(err)
	}
}
