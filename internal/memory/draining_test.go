package memory

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDraining: a host keeps the time at which it was first seen, across restarts, until it terminates no more.
func TestDraining(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made", "draining.json")
	a, b := hostA, compiler.HostKey{Namespace: "shop", Address: netip.MustParseAddrPort("[2001:db8::1]:80")}
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	for _, step := range []struct {
		hosts []compiler.HostKey
		now   int64
		want  map[compiler.HostKey]time.Time
	}{
		{nil, 100, map[compiler.HostKey]time.Time{}},
		{[]compiler.HostKey{a}, 200, map[compiler.HostKey]time.Time{a: at(200)}},
		{[]compiler.HostKey{a, b}, 300, map[compiler.HostKey]time.Time{a: at(200), b: at(300)}},
		{[]compiler.HostKey{b}, 400, map[compiler.HostKey]time.Time{b: at(300)}},
		{[]compiler.HostKey{a, b}, 500, map[compiler.HostKey]time.Time{a: at(500), b: at(300)}},
	} {
		d, err := newDraining(File(file)) // a restart before each step
		must(t, err)
		must(t, d.Update(step.hosts, at(step.now)))
		if !reflect.DeepEqual(d.Since, step.want) {
			t.Errorf("at %d: %v, want %v", step.now, d.Since, step.want)
		}
	}
}

// TestDrainingWithoutFile: limpet run forgets.
func TestDrainingWithoutFile(t *testing.T) {
	d, err := newDraining(nil)
	must(t, err)
	must(t, d.Update([]compiler.HostKey{hostA}, time.Now()))
	if len(d.Since) != 1 {
		t.Errorf("remembers %v", d.Since)
	}
}

// TestDrainingDamaged: a file that can't be read is an error, and the memory begins again.
func TestDrainingDamaged(t *testing.T) {
	for _, text := range []string{"", "[]", `{"10.0.0.1": "2026-01-01T00:00:00Z"}`, `{"10.0.0.1:80": "yesterday"}`} {
		file := filepath.Join(t.TempDir(), "draining.json")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		d, err := newDraining(File(file))
		if err == nil || d == nil || len(d.Since) != 0 {
			t.Errorf("%q: %v, %v", text, d, err)
		}
	}
}
