package memory

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

var (
	hostA = compiler.HostKey{Namespace: "shop", Address: netip.MustParseAddrPort("10.0.0.1:80")}
	hostB = compiler.HostKey{Namespace: "shop", Address: netip.MustParseAddrPort("10.0.0.2:80")}
)

// TestOwners: an address that passes to another pod is told once, and stays told until proxies know; slices that still name the
// pod before are no news, and nothing of it is forgotten over a restart.
func TestOwners(t *testing.T) {
	file := filepath.Join(t.TempDir(), "owners.json")
	o, err := newOwners(File(file))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	now := time.Now()
	at := func(host compiler.HostKey, uid string) compiler.PodAt { return compiler.PodAt{HostKey: host, UID: uid} }
	steps := []struct {
		what  string
		pods  []compiler.PodAt
		moved []compiler.HostKey
		want  map[compiler.HostKey]string
	}{
		{"first seen", []compiler.PodAt{at(hostA, "p1"), at(hostB, "q1")}, nil, map[compiler.HostKey]string{hostA: "p1", hostB: "q1"}},
		{"gone", []compiler.PodAt{at(hostB, "q1")}, nil, map[compiler.HostKey]string{hostA: "p1"}},
		{"back as it was", []compiler.PodAt{at(hostA, "p1"), at(hostB, "q1")}, nil, map[compiler.HostKey]string{hostA: "p1"}},
		{"another's", []compiler.PodAt{at(hostA, "p2"), at(hostB, "q1")}, []compiler.HostKey{hostA}, map[compiler.HostKey]string{hostA: "p2"}},
		{"and a slice that lags", []compiler.PodAt{at(hostA, "p1"), at(hostA, "p2")}, nil, map[compiler.HostKey]string{hostA: "p2"}},
		{"a slice that is ahead", []compiler.PodAt{at(hostB, "q1"), at(hostB, "q0")}, []compiler.HostKey{hostB}, map[compiler.HostKey]string{hostB: "q0"}},
		{"a file put back", []compiler.PodAt{at(hostA, "p1")}, []compiler.HostKey{hostA}, map[compiler.HostKey]string{hostA: "p1"}},
	}
	for _, s := range steps {
		moved := o.Update(byAddress(s.pods), true, now)
		check(o.Keep(nil))
		if !slices.Equal(moved, s.moved) {
			t.Errorf("%s: %v have moved, want %v", s.what, moved, s.moved)
		}
		for host, uid := range s.want {
			if o.Of[host].UID != uid {
				t.Errorf("%s: %v is %q's, want %q", s.what, host, o.Of[host].UID, uid)
			}
		}
		if o, err = newOwners(File(file)); err != nil { // each step is another limpet's
			t.Fatal(err)
		}
	}
	if !o.IsPending() || o.Of[hostA].Live {
		t.Errorf("nothing is pending: %v", o.Of)
	}
	changed, err := o.Confirm()
	check(err)
	o, err = newOwners(File(file))
	check(err)
	if !changed || o.IsPending() || !o.Of[hostA].Live || !o.Of[hostA].Reused {
		t.Errorf("after it is confirmed: %v", o.Of)
	}
	if changed, err := o.Confirm(); changed || err != nil {
		t.Errorf("confirmed twice: %v", err)
	}
}

// byAddress gives the uids of pods by their addresses.
func byAddress(pods []compiler.PodAt) map[compiler.HostKey][]string {
	uids := map[compiler.HostKey][]string{}
	for _, p := range pods {
		uids[p.HostKey] = append(uids[p.HostKey], p.UID)
	}
	return uids
}

func addressOf(i int) compiler.HostKey {
	return compiler.HostKey{Namespace: "shop", Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 80)}
}

// TestOwnersOfStrangers: what the slices of a namespace say of an address takes it from no pod of another namespace, and a memory
// of before there were namespaces in it is nobody's.
func TestOwnersOfStrangers(t *testing.T) {
	o := New().Owners
	stranger := compiler.HostKey{Namespace: "b", Address: hostA.Address}
	for _, pods := range [][]compiler.PodAt{{{HostKey: hostA, UID: "p1"}}, {{HostKey: stranger, UID: "thief"}, {HostKey: hostA, UID: "p1"}}} {
		if moved := o.Update(byAddress(pods), true, time.Now()); len(moved) > 0 {
			t.Errorf("%v have moved", moved)
		}
	}
	if got := o.Of[hostA]; got.UID != "p1" || got.Reused || o.IsPending() {
		t.Errorf("the pod's address is %+v", got)
	}
	file := filepath.Join(t.TempDir(), "owners.json")
	must(t, os.WriteFile(file, []byte(`{"10.0.0.1:80": {"uid": "p0"}}`), 0o600))
	old, err := newOwners(File(file))
	must(t, err)
	if _, known := old.Of[hostA]; known || len(old.Of) != 1 {
		t.Errorf("an old memory is read as %v", old.Of)
	}
}

// lastEntries is a store that is not whole, and has what was written last.
type lastEntries struct{ entries map[string]json.RawMessage }

func (m *lastEntries) Read() (map[string]json.RawMessage, error) { return m.entries, nil }
func (m *lastEntries) Whole() bool                               { return false }
func (m *lastEntries) Write(entries map[string]json.RawMessage, kept func()) error {
	if m.entries = entries; kept != nil {
		kept()
	}
	return nil
}

// TestOwnersRemembersAll has pods come, go and take others' addresses at random, and limpet begin again: at each moment the memory has all
// that is worth it, and nothing else, though only what has changed is written down.
func TestOwnersRemembersAll(t *testing.T) {
	random, m, now := rand.New(rand.NewPCG(18, 2)), &lastEntries{}, time.Unix(1_700_000_000, 0)
	o, err := newOwners(m)
	must(t, err)
	var before map[compiler.HostKey][]string
	begun := true // by a limpet that has seen nothing
	for round := range 400 {
		var pods []compiler.PodAt
		for i := range 6 {
			if random.IntN(4) > 0 {
				pods = append(pods, compiler.PodAt{HostKey: addressOf(i), UID: fmt.Sprint(random.IntN(3))})
			}
		}
		now = now.Add(time.Second)
		there := byAddress(pods)
		others := map[compiler.HostKey][]string{}
		for i := range 6 {
			if at := addressOf(i); begun || !slices.Equal(there[at], before[at]) || random.IntN(3) == 0 {
				others[at] = there[at]
			}
		}
		o.Update(others, begun, now)
		before, begun = there, false
		if random.IntN(3) == 0 {
			_, err = o.Confirm()
			must(t, err)
		}
		must(t, o.Keep(nil))
		want := map[string]rememberedOwner{}
		for at := range o.Of {
			if gone := !o.history[at].gone.IsZero(); gone == (len(there[at]) > 0) {
				t.Fatalf("round %d: %v is gone: %t, and has %q", round, at, gone, there[at])
			}
			if r := o.describe(at); r.isWorthIt() {
				want[at.String()] = r
			}
		}
		text, err := json.Marshal(want)
		must(t, err)
		if got, err := json.Marshal(m.entries); string(got) != string(text) || err != nil {
			t.Fatalf("round %d: it remembers %s, want %s: %v", round, got, text, err)
		}
		if random.IntN(20) == 0 {
			o, err = newOwners(m)
			must(t, err)
			begun = true
		}
	}
}
