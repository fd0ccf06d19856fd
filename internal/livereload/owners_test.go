package livereload

import (
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

var (
	hostA = netip.MustParseAddrPort("10.0.0.1:80")
	hostB = netip.MustParseAddrPort("10.0.0.2:80")
)

// TestOwners: an address that passes to another pod is told once, and stays told until proxies know; slices that still name the
// pod before are no news, and nothing of it is forgotten over a restart.
func TestOwners(t *testing.T) {
	file := filepath.Join(t.TempDir(), "owners.json")
	o, err := NewOwners(file)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	now := time.Now()
	at := func(host netip.AddrPort, uid string) compiler.PodAt { return compiler.PodAt{Address: host, UID: uid} }
	steps := []struct {
		what  string
		pods  []compiler.PodAt
		moved []netip.AddrPort
		want  map[netip.AddrPort]string
	}{
		{"first seen", []compiler.PodAt{at(hostA, "p1"), at(hostB, "q1")}, nil, map[netip.AddrPort]string{hostA: "p1", hostB: "q1"}},
		{"gone", []compiler.PodAt{at(hostB, "q1")}, nil, map[netip.AddrPort]string{hostA: "p1"}},
		{"back as it was", []compiler.PodAt{at(hostA, "p1"), at(hostB, "q1")}, nil, map[netip.AddrPort]string{hostA: "p1"}},
		{"another's", []compiler.PodAt{at(hostA, "p2"), at(hostB, "q1")}, []netip.AddrPort{hostA}, map[netip.AddrPort]string{hostA: "p2"}},
		{"and a slice that lags", []compiler.PodAt{at(hostA, "p1"), at(hostA, "p2")}, nil, map[netip.AddrPort]string{hostA: "p2"}},
		{"a slice that is ahead", []compiler.PodAt{at(hostB, "q1"), at(hostB, "q0")}, []netip.AddrPort{hostB}, map[netip.AddrPort]string{hostB: "q0"}},
		{"a file put back", []compiler.PodAt{at(hostA, "p1")}, []netip.AddrPort{hostA}, map[netip.AddrPort]string{hostA: "p1"}},
	}
	for _, s := range steps {
		moved, err := o.See(s.pods, now)
		check(err)
		if len(moved) == 0 { // or else it is there already
			check(o.Keep())
		}
		if !slices.Equal(moved, s.moved) {
			t.Errorf("%s: %v have moved, want %v", s.what, moved, s.moved)
		}
		for host, uid := range s.want {
			if o.Of[host].UID != uid {
				t.Errorf("%s: %v is %q's, want %q", s.what, host, o.Of[host].UID, uid)
			}
		}
		if o, err = NewOwners(file); err != nil { // each step is another limpet's
			t.Fatal(err)
		}
	}
	if !o.IsPending() || o.Of[hostA].Live {
		t.Errorf("nothing is pending: %v", o.Of)
	}
	news, err := o.Confirm()
	check(err)
	o, err = NewOwners(file)
	check(err)
	if !news || o.IsPending() || !o.Of[hostA].Live || !o.Of[hostA].Reused {
		t.Errorf("after it is confirmed: %v", o.Of)
	}
	if news, err := o.Confirm(); news || err != nil {
		t.Errorf("confirmed twice: %v", err)
	}
}

// newOwners remembers nothing over a restart.
func newOwners(t testing.TB) *Owners {
	t.Helper()
	o, err := NewOwners("")
	if err != nil {
		t.Fatal(err)
	}
	return o
}
