package kubernetes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// gatewayObject is a Gateway with what its spec and its status say of addresses.
func gatewayObject(spec, status string) *object {
	return &object{text: []byte(`{"kind":"Gateway","spec":{` + spec + `}}`), status: []byte(`{` + status + `}`)}
}

func shown(at string) string { return `"addresses":[{"type":"IPAddress","value":"` + at + `"}]` }

// give has a pool give a Gateway an address; empty for none.
func give(t *testing.T, p *Pool, name string, o *object) string {
	t.Helper()
	if err := p.give(name, o); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(o.text), `"value":"`)
	at, _, _ := strings.Cut(rest, `"`)
	return at
}

// TestPool: a Gateway without an address gets one that no other has, and keeps what its status shows; one that names its own keeps that.
func TestPool(t *testing.T) {
	p := NewPool(netip.MustParsePrefix("10.0.0.0/29"))
	has := func(name string, o *object) string { return give(t, p, name, o) }
	if at := has("a", gatewayObject("", shown("10.0.0.2"))); at != "10.0.0.2" {
		t.Errorf("a has %s, and its status shows another", at)
	}
	if at := has("named", gatewayObject(shown("10.0.0.3"), "")); at != "10.0.0.3" {
		t.Errorf("named has %s", at)
	}
	seen := map[string]bool{"10.0.0.2": true, "10.0.0.3": true}
	for _, name := range []string{"b", "c", "d", "e"} {
		at := has(name, gatewayObject(`"addresses":[{"type":"IPAddress"}]`, shown("192.0.2.1")))
		if seen[at] || at == "" || at == "10.0.0.0" || at == "10.0.0.7" {
			t.Errorf("%s has %q, which another has, or no host", name, at)
		}
		seen[at] = true
		if again := has(name, gatewayObject("", shown("10.0.0.2"))); again != at {
			t.Errorf("%s had %s and has %s, for its status shows what is another's", name, at, again)
		}
	}
	if at := has("late", gatewayObject("", "")); at != "" {
		t.Errorf("an empty pool gives %s", at)
	}
	p.release("a")
	if at := has("late", gatewayObject("", "")); at != "10.0.0.2" {
		t.Errorf("late has %q, and 10.0.0.2 is free", at)
	}
	for prefix, want := range map[string]string{
		"10.0.0.8/31": "10.0.0.8 10.0.0.9", "10.0.0.8/32": "10.0.0.8", "10.0.0.8/30": "10.0.0.10 10.0.0.9", "fd00::/126": "fd00::1 fd00::2 fd00::3",
	} {
		p, all := NewPool(netip.MustParsePrefix(prefix)), []string{}
		for i := range 5 {
			if at := give(t, p, fmt.Sprint(i), gatewayObject("", "")); at != "" {
				all = append(all, at)
			}
		}
		if slices.Sort(all); strings.Join(all, " ") != want {
			t.Errorf("%s has %v for hosts; want %s", prefix, all, want)
		}
	}
	same := map[string]bool{}
	for range 2 {
		p := NewPool(netip.MustParsePrefix("10.1.0.0/16"))
		o := gatewayObject("", "")
		if err := p.give("Gateway/shop/edge", o); err != nil {
			t.Fatal(err)
		}
		same[fmt.Sprint(string(o.text))] = true
	}
	if len(same) != 1 {
		t.Errorf("two processes give different addresses: %v", same)
	}
}
