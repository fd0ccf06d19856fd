package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/token"
)

// destination is a route whose metadata has a text.
type destination struct {
	text    string
	cluster string
	reads   *int
}

func (d destination) Cluster() string { return d.cluster }

func (destination) ShowKeys(token.Fingerprint) {}

func (d destination) Policies() (string, bool) {
	if d.reads != nil {
		*d.reads++
	}
	return d.text, d.text != ""
}

// routeNamed gives a route's name with an identity made of a number.
func routeNamed(i int) string {
	return fmt.Sprintf("route/%d#%016x", i, uint64(i+1)*0x9e3779b97f4a7c15)
}

const someText = `[{"sessionName":"sid"}]`

// carrying is an engine whose memory is counted: what the pieces are that it has and does not give back.
func carrying(t *testing.T) (e *Engine, memory map[uintptr]bool, refused *[]string) {
	t.Helper()
	e, memory, refused = engine(t, 1), map[uintptr]bool{}, &[]string{}
	last := uintptr(0)
	e.proxy.Own = func() uintptr {
		last++
		memory[last] = true
		return last
	}
	e.proxy.Free = func(m uintptr) {
		if !memory[m] {
			t.Errorf("memory %d is given back twice", m)
		}
		delete(memory, m)
	}
	e.proxy.Refuse = func(route string, errs []error) { *refused = append(*refused, fmt.Sprint(route, errs)) }
	return e, memory, refused
}

// TestPoliciesComeWithRoutes: the text is read once for each identity, and a changed one takes its place.
func TestPoliciesComeWithRoutes(t *testing.T) {
	e, _, _ := carrying(t)
	reads := 0
	first, second := "route/a#0123456789abcdef", "route/a#fedcba9876543210"
	for range 3 {
		if p, sound := e.Policy(first, destination{text: someText, reads: &reads}); !sound || p == nil || p.Name != "a" || p.cfg.SessionName != "sid" {
			t.Fatalf("got %+v, %t", p, sound)
		}
	}
	p, _ := e.Policy(second, destination{text: `[{"sessionName":"other"}]`, reads: &reads})
	if p == nil || p.cfg.SessionName != "other" || reads != 2 {
		t.Errorf("got %+v after %d reads, want another policy after 2", p, reads)
	}
	if p, sound := e.Policy("route/a", destination{text: someText, reads: &reads}); p != nil || !sound || reads != 2 {
		t.Errorf("a route without an identity has %+v", p)
	}
}

// TestPoliciesOfBackends: the cluster chooses among a route's policies, as it does in the plugin configuration.
func TestPoliciesOfBackends(t *testing.T) {
	e, _, _ := carrying(t)
	text := `[{"name":"a","clusters":["a"],"sessionName":"x"},{"name":"b","clusters":["b"],"sessionName":"y"}]`
	for cluster, want := range map[string]string{"a": "a", "b": "b", "c": ""} {
		p, sound := e.Policy(routeNamed(0), destination{text: text, cluster: cluster})
		if !sound || (p == nil) != (want == "") || p != nil && p.Name != want {
			t.Errorf("cluster %s has %+v", cluster, p)
		}
	}
}

// TestBrokenPoliciesAreRefused, each once in the log, and on their own routes alone.
func TestBrokenPoliciesAreRefused(t *testing.T) {
	e, _, refused := carrying(t)
	for i, text := range []string{"", "[]", `[{"sessionName":"a b"}]`, `[{"sessionName":"a","nonsense":1}]`} {
		for range 3 {
			if _, sound := e.Policy(routeNamed(i), destination{text: text}); sound {
				t.Errorf("%s passes", text)
			}
		}
		if len(*refused) != i+1 || !strings.HasPrefix((*refused)[i], routeNamed(i)) {
			t.Errorf("%s: refused are %q", text, *refused)
		}
	}
	if p, sound := e.Policy(routeNamed(9), destination{text: someText}); p == nil || !sound {
		t.Error("a sound route is refused too")
	}
}

// TestCarriedAreBounded in number and in bytes; those that were used last stay, and all memory of the others is given back.
func TestCarriedAreBounded(t *testing.T) {
	e, memory, _ := carrying(t)
	for i := range 3 * maxCarried {
		e.Policy(routeNamed(i), destination{text: someText})
		e.Policy(routeNamed(0), destination{})
	}
	if e.carried.count != maxCarried || len(memory) != maxCarried {
		t.Errorf("%d are kept with %d pieces of memory, want %d", e.carried.count, len(memory), maxCarried)
	}
	if p, sound := e.Policy(routeNamed(0), destination{}); p == nil || !sound {
		t.Error("the route in use was forgotten")
	}
	long := `[{"sessionName":"sid","cookie":{"attributes":["a=` + strings.Repeat("x", 1000) + `"]}}]`
	for i := range 2 * maxCarriedBytes / len(long) {
		e.Policy(routeNamed(-2-i), destination{text: long})
	}
	if c := &e.carried; c.bytes > maxCarriedBytes || c.bytes < maxCarriedBytes-2*len(long) || len(memory) != c.count {
		t.Errorf("%d bytes are kept, and %d pieces of memory of %d", c.bytes, len(memory), c.count)
	}
}

// TestPoliciesOutliveTheirRoutes for as long as an exchange has them.
func TestPoliciesOutliveTheirRoutes(t *testing.T) {
	e, memory, _ := carrying(t)
	held, _ := e.Policy(routeNamed(0), destination{text: someText})
	held.Hold()
	held.Hold()
	held.Release()
	for i := range maxCarried {
		e.Policy(routeNamed(i+1), destination{text: someText})
	}
	if e.carried.findPolicies(routeNamed(0)) != nil || !memory[held.home.memory] {
		t.Error("the policy is kept, or its memory is not")
	}
	held.Release()
	if memory[held.home.memory] {
		t.Error("the memory of the policy is not given back")
	}
}
