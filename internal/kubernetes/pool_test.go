package kubernetes

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// gatewayObject is a Gateway with what its spec and its status say of addresses.
func gatewayObject(spec, status string) *object {
	return &object{text: []byte(`{"kind":"Gateway","spec":{` + spec + `}}`), status: []byte(`{` + status + `}`)}
}

func shown(at string) string { return `"addresses":[{"type":"IPAddress","value":"` + at + `"}]` }

// TestPool: a Gateway without an address gets one that no other has, and keeps what its status shows; one that names its own keeps that.
func TestPool(t *testing.T) {
	p := NewPool(netip.MustParsePrefix("10.0.0.0/30"))
	give := func(name string, o *object) string {
		if err := p.give(name, o); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(o.text), `"value":"`)
		at, _, _ := strings.Cut(rest, `"`)
		return at
	}
	if at := give("a", gatewayObject("", shown("10.0.0.2"))); at != "10.0.0.2" {
		t.Errorf("a has %s, and its status shows another", at)
	}
	if at := give("named", gatewayObject(shown("10.0.0.3"), "")); at != "10.0.0.3" {
		t.Errorf("named has %s", at)
	}
	seen := map[string]bool{"10.0.0.2": true, "10.0.0.3": true}
	for _, name := range []string{"b", "c"} {
		at := give(name, gatewayObject(`"addresses":[{"type":"IPAddress"}]`, shown("192.0.2.1")))
		if seen[at] || at == "" {
			t.Errorf("%s has %q, which another has or is none", name, at)
		}
		seen[at] = true
		if again := give(name, gatewayObject("", shown("10.0.0.2"))); again != at {
			t.Errorf("%s had %s and has %s, for its status shows what is another's", name, at, again)
		}
	}
	if at := give("late", gatewayObject("", "")); at != "" {
		t.Errorf("an empty pool gives %s", at)
	}
	p.release("a")
	if at := give("late", gatewayObject("", "")); at != "10.0.0.2" {
		t.Errorf("late has %q, and 10.0.0.2 is free", at)
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
