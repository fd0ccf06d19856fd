package compiler

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/token"
)

// ownersDocument has pods at 10.0.1.1 and 10.0.1.2 in a Service under a session.
const ownersDocument = "owners-of-addresses.in.yaml"

// hostOf is an address in a namespace.
func hostOf(namespace, address string) HostKey {
	return HostKey{Namespace: namespace, Address: netip.MustParseAddrPort(address)}
}

// TestOwners compiles what is remembered of addresses into endpoints and into what the filter is told.
func TestOwners(t *testing.T) {
	one, two := hostOf("default", "10.0.1.1:8080"), hostOf("default", "10.0.1.2:8080")
	is := func(uid string, reused, live bool) HostOwner { return HostOwner{UID: uid, Reused: reused, Live: live} }
	pod := func(at HostKey, uid string) string { return fmt.Sprintf("%v pod %016x", at.Address, token.PodTag(uid)) }
	name := func(at HostKey, name string) string {
		return fmt.Sprintf("%v name %016x", at.Address, token.NameTag(name))
	}
	const both = "service/default/cart/80: 10.0.1.1 10.0.1.2"
	for _, c := range []struct {
		name           string
		edit           [2]string
		known          map[HostKey]HostOwner
		hosts          string
		owners         []string
		unacknowledged bool
	}{
		{"nothing is known", [2]string{}, nil, both, nil, false},
		{"as before", [2]string{}, map[HostKey]HostOwner{one: is("uid-1", false, false)}, both, nil, false},
		{
			"another's before, and proxies don't know",
			[2]string{},
			map[HostKey]HostOwner{one: is("uid-1", true, false)},
			"service/default/cart/80: 10.0.1.2",
			[]string{pod(one, "uid-1")},
			true,
		},
		{
			"another's before, and proxies know",
			[2]string{},
			map[HostKey]HostOwner{one: is("uid-1", true, true)},
			both,
			[]string{pod(one, "uid-1")},
			false,
		},
		{
			"another's now",
			[2]string{},
			map[HostKey]HostOwner{one: is("uid-0", false, false)},
			"service/default/cart/80: 10.0.1.2", nil, true,
		},
		{
			"a slice that lags",
			[2]string{},
			map[HostKey]HostOwner{one: is("uid-9", true, true)},
			"service/default/cart/80: 10.0.1.2",
			[]string{pod(one, "uid-9")},
			true,
		},
		{
			"another namespace's word for it",
			[2]string{},
			map[HostKey]HostOwner{hostOf("b", "10.0.1.1:8080"): is("uid-9", true, false)},
			both, nil, false,
		},
		{
			"names",
			[2]string{"identity: Pod", "identity: Name"},
			map[HostKey]HostOwner{two: is("uid-2", true, true)},
			both,
			[]string{name(one, "default/cart:80/cart-0"), name(two, "default/cart:80/cart-1"), pod(two, "uid-2")},
			false,
		},
		{
			"addresses",
			[2]string{"identity: Pod", "identity: Address"},
			map[HostKey]HostOwner{one: is("uid-1", true, true)},
			both, nil, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			input := readCase(t, ownersDocument)
			if c.edit[0] != "" {
				edited := strings.Replace(input, c.edit[0], c.edit[1], 1)
				if edited == input {
					t.Fatalf("%q is not in the document", c.edit[0])
				}
				input = edited
			}
			o := Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{Together: true, Owners: c.known}}}
			sources := []Source{{Name: "in.yaml", Data: []byte(input)}}
			result, err := Compile(sources, o)
			if err != nil {
				t.Fatal(err)
			}
			analyzed, err := analyze(sources, &o)
			if err != nil {
				t.Fatal(err)
			}
			if got := clusterHosts(t, result); got != c.hosts {
				t.Errorf("got %s\nwant %s", got, c.hosts)
			}
			if got := analyzed.Plan.Proxy.Policies[0].Owners; !slices.Equal(got, c.owners) {
				t.Errorf("owners: %q\nwant %q", got, c.owners)
			}
			if result.Unacknowledged != c.unacknowledged {
				t.Errorf("unacknowledged: %v", result.Unacknowledged)
			}
			if want := []PodAt{{HostKey: one, UID: "uid-1"}, {HostKey: two, UID: "uid-2"}}; !slices.Equal(result.Pods, want) {
				t.Errorf("pods: %v", result.Pods)
			}
		})
	}
}

// TestFollowerOwners: what is remembered of addresses changes while the documents stay, and the other way round; each result is
// that of a compilation from scratch.
func TestFollowerOwners(t *testing.T) {
	requests := readCase(t, ownersDocument)
	connections := strings.NewReplacer("protocol: HTTP", "protocol: TCP", "gateway.networking.k8s.io/v1\nkind: HTTPRoute",
		"gateway.networking.k8s.io/v1alpha2\nkind: TCPRoute", "\n    sessionPersistence: {sessionName: cart}", "").Replace(requests)
	for name, input := range map[string]string{"requests": requests, "connections": connections} {
		t.Run(name, func(t *testing.T) { followOwners(t, input) })
	}
}

func followOwners(t *testing.T, input string) {
	t.Helper()
	at := hostOf("default", "10.0.1.1:8080")
	o := Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{Together: true}}}
	f := newFollower(t, o)
	for i, step := range []struct {
		uid   string
		known HostOwner
		moved bool
	}{
		{"uid-1", HostOwner{}, false},
		{"uid-1", HostOwner{UID: "uid-1"}, false},
		{"uid-3", HostOwner{UID: "uid-1"}, false},
		{"uid-3", HostOwner{UID: "uid-3", Reused: true}, true},
		{"uid-3", HostOwner{UID: "uid-3", Reused: true, Live: true}, false},
		{"uid-1", HostOwner{UID: "uid-3", Reused: true, Live: true}, false},
		{"uid-1", HostOwner{UID: "uid-1", Reused: true, Live: true}, true},
		{"uid-1", HostOwner{UID: "uid-4", Reused: true, Live: true}, true},
	} {
		known := map[HostKey]HostOwner{}
		if step.known.UID != "" {
			known[at] = step.known
		}
		sources := []Source{{Name: "in.yaml", Data: []byte(strings.Replace(input, "uid-1", step.uid, 1))}}
		changes := Changes{Owners: known}
		if step.moved {
			changes.Moved = []HostKey{at}
		}
		update, err := f.Replace(sources, changes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := update.Result()
		if err != nil {
			t.Fatal(err)
		}
		whole, hot, own := o, *o.Envoy.Served, *o.Envoy
		hot.Owners, own.Served, whole.Envoy = known, &hot, &own
		want, err := Compile(sources, whole)
		if err != nil {
			t.Fatal(err)
		}
		compareFollowedResults(t, fmt.Sprint(i), got, want)
		if !slices.Equal(got.Pods, want.Pods) || got.Unacknowledged != want.Unacknowledged {
			t.Errorf("step %d: pods %v, unacknowledged %v; want %v, %v", i, got.Pods, got.Unacknowledged, want.Pods, want.Unacknowledged)
		}
	}
}

func readCase(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
