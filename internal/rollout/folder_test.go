package rollout

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// TestModesStayTight holds that files whose configuration had keys stay their owner's: while those go, listeners of the configuration
// before, and of a program before, are in the files that are written.
func TestModesStayTight(t *testing.T) {
	d := Folder{Path: t.TempDir()}
	wantMode := func(of *Folder, want os.FileMode) {
		t.Helper()
		if err := of.put(listenersFile(&envoy.Discovery{})); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(of.Path, envoy.ListenersFile))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("the mode is %04o, want %04o", got, want)
		}
	}
	d.Tighten(0o644)
	wantMode(&d, 0o644)
	d.Tighten(0o600)
	wantMode(&d, 0o600)
	d.Tighten(0o644)
	wantMode(&d, 0o600)

	next := Folder{Path: d.Path}
	_, _ = next.Read() // of which nothing is there but the listeners
	next.Tighten(0o644)
	wantMode(&next, 0o600)
}
