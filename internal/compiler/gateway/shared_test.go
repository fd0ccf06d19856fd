package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
)

// TestSharedHosts holds which hostnames are one host, and that these are reckoned as one: whoever has them told apart is charged for it.
//
// requirements: S87
func TestSharedHosts(t *testing.T) {
	route := func(name string, day int, hostnames string) string {
		return routeOf(aged(name, day), toWeb+", hostnames: ["+hostnames+"]"+oneRule)
	}
	wide := func(day int) string { return routeOf(aged("w", day), toWeb+oneRule) }
	const one = len("defaulta") + matchOverhead + len("/")
	for name, c := range map[string]struct {
		routes []string
		want   string
		usual  int // matches that are laid out
	}{
		"hostnames of one route":  {[]string{route("a", 1, "a.org, b.com")}, "a.org,b.com: a|*:", 1},
		"of two routes":           {[]string{route("a", 1, "a.org, b.com"), route("b", 2, "b.com, a.org")}, "a.org,b.com: a b|*:", 2},
		"told apart by a route":   {[]string{route("a", 1, "a.org, b.com, c.net"), route("b", 2, "b.com")}, "a.org,c.net: a|b.com: a b|*:", 3},
		"told apart before":       {[]string{route("b", 1, "b.com"), route("a", 2, "a.org, b.com, c.net")}, "a.org,c.net: a|b.com: b a|*:", 3},
		"with another's hostname": {[]string{route("a", 1, "a.org, b.com"), route("b", 2, "b.com, c.net")}, "a.org: a|b.com: a b|c.net: b|*:", 4},
		"below a wide one":        {[]string{wide(1), route("a", 2, "a.org, b.com")}, "a.org,b.com: a w|*: w", 3},
		"below one of two":        {[]string{route("w", 1, `"*.org"`), route("a", 2, "a.org, b.com")}, "a.org: a w|b.com: a|*.org: w|*:", 4},
		"below one that comes":    {[]string{route("a", 1, "a.org, b.com"), route("w", 2, `"*.org"`)}, "a.org: a w|b.com: a|*.org: w|*:", 4},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, append(c.routes, limpetClass, gatewayOf("web", onPort80, ""))...)
			if got := listMatches(b); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			names := 0
			for _, h := range b.ports[0].Hosts {
				if len(h.Matches) > 0 {
					names += len(listDomains(h))
				}
			}
			if got := (b.usage.All.Bytes - names*hostOverhead) / one; got != c.usual {
				t.Errorf("%d matches are reckoned, and not %d", got, c.usual)
			}
		})
	}
}

// TestListenersOwnHostname: a listener's own hostname is a host by itself, for it is one without routes too.
func TestListenersOwnHostname(t *testing.T) {
	b := buildAll(t, limpetClass, gatewayOf("web", listenerOf("http", `hostname: "*.org"`), ""),
		routeOf("r", toWeb+`, hostnames: [b.org, a.org, "*.org"]`+oneRule))
	checkText(t, b, `0.0.0.0:80
		a.org,b.org default/web/http: r/0/0
		*.org default/web/http: r/0/0`)
}

// TestWhoeverTellsHostsApartPays: there is room for a route's hostnames together, and for no route that would have them laid out apart.
func TestWhoeverTellsHostsApartPays(t *testing.T) {
	senior := routeOf(aged("a", 1), toWeb+", hostnames: [a.org, b.org, c.org], rules: [{matches: [{}, {}, {}, {}]}]")
	newcomer := routeOf(aged("b", 2), toWeb+", hostnames: [b.org]"+oneRule)
	in := NewInput(compilertest.Admit(t, limpetClass, gatewayOf("web", onPort80, ""), senior, newcomer), netip.MustParseAddr("0.0.0.0"))
	in.budget = newBudget(6 * usualSize)
	b := newBuilt(Build(in))
	if got, want := listMatches(b), "a.org,b.org,c.org: a a a a|*:"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if warnings := fmt.Sprint(b.rep.Warnings()); !strings.Contains(warnings, "HTTPRoute default/b: spec.parentRefs[0]: Too long: its matches come to") {
		t.Errorf("the newcomer is not told: %s", warnings)
	}
}
