package gateway

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// aged is the metadata of a route that was made on a day of a month.
func aged(name string, day int) string {
	return fmt.Sprintf(`%s, creationTimestamp: "2026-01-%02dT00:00:00Z"`, name, day)
}

// usualSize is what the usual rule comes to, of a route whose name has a letter.
const usualSize = len("defaulta") + matchOverhead + len("/wide")

// newBudget is one with so much for each.
func newBudget(each int) Budget { return Budget{(each + 1) / 2 * 5} }

// buildWithin works out which requests reach which rule with room for a number of copies of the usual rule.
func buildWithin(t *testing.T, usual int, documents ...string) *built {
	t.Helper()
	in := NewInput(compilertest.Admit(t, documents...), netip.MustParseAddr("0.0.0.0"))
	needs := Build(in).Usage.All
	own := needs.Bytes - needs.Copies
	in = in.Within(newBudget(max(own, usual*usualSize) + usual*usualSize))
	return newBuilt(Build(in))
}

const (
	usualMatch = "{path: {value: /wide}}"
	toFallback = toWeb + ", rules: [{matches: [" + usualMatch + "]}]"
	withheld   = `HTTPRoute default/%s: spec.hostnames: Invalid value: %q: on listener http of Gateway default/web routes for %[2]q are copied`
)

// hostRoute is a route for a hostname of its name, of a day.
func hostRoute(name string, day int) string {
	return routeOf(aged(name, day), toWeb+", hostnames: ["+name+".org]"+oneRule)
}

// wideRoute is a route of a day for every hostname, with the usual rule.
func wideRoute(name string, day int) string { return routeOf(aged(name, day), toFallback) }

// TestCopies holds who gets what where there is no room for all routes of "*" on all hostnames that it covers: what is older keeps what
// it has, be it a route or a hostname, and who is left out is told.
//
// requirements: S86
func TestCopies(t *testing.T) {
	reaching := func(name string) string { return fmt.Sprintf(withheld, name, "*") }
	without := func(name, hostnames string) string {
		return fmt.Sprintf(`HTTPRoute default/%s: spec.hostnames: Invalid value: %q: on listener http of Gateway default/web`, name, hostnames)
	}
	for name, c := range map[string]struct {
		budget   int
		routes   []string
		want     string
		warnings []string
	}{
		"room for all": {2, []string{wideRoute("w", 1), hostRoute("a", 2), hostRoute("b", 3)}, "a.org: a w|b.org: b w|*: w", nil},
		"a younger hostname": {
			1,
			[]string{wideRoute("w", 1), hostRoute("a", 2), hostRoute("b", 3)},
			"a.org: a w|b.org: b|*: w",
			[]string{without("b", "b.org")},
		},
		"a younger hostname, which comes first by its name": {
			1,
			[]string{wideRoute("w", 1), hostRoute("a", 3), hostRoute("b", 2)},
			"a.org: a|b.org: b w|*: w",
			[]string{without("a", "a.org")},
		},
		"a younger route": {
			3,
			[]string{wideRoute("v", 1), wideRoute("w", 4), hostRoute("a", 2), hostRoute("b", 3)},
			"a.org: a v|b.org: b v|*: v w",
			[]string{reaching("w")},
		},
		"an older route than some hostnames": {
			2,
			[]string{wideRoute("v", 1), wideRoute("w", 3), hostRoute("a", 2), hostRoute("b", 4)},
			"a.org: a v w|b.org: b|*: v w",
			[]string{without("b", "b.org")},
		},
		"no route for a hostname that is as old as all of them": {
			1,
			[]string{hostRoute("a", 1), hostRoute("b", 2), wideRoute("w", 3)},
			"a.org: a|b.org: b|*: w",
			[]string{reaching("w")},
		},
		"a younger route without room at its own hostname": {
			2,
			[]string{
				hostRoute("a", 1), hostRoute("b", 1), wideRoute("v", 2), hostRoute("c", 3), routeOf(aged("w", 4), toWeb+", rules: [{matches: ["+usualMatch+", "+usualMatch+"]}]"),
			},
			"a.org: a v|b.org: b v|c.org: c v|*: v",
			[]string{"HTTPRoute default/w: spec.parentRefs[0]: Too long: its matches come to"},
		},
		"a younger route counts no hostname that is without": {
			4,
			[]string{
				routeOf(aged("v", 1), toWeb+", rules: [{matches: ["+usualMatch+", "+usualMatch+", "+usualMatch+"]}]"), hostRoute("a", 2), hostRoute("b", 3), wideRoute("w", 4),
			},
			"a.org: a v v v w|b.org: b|*: v v v w",
			[]string{without("b", "b.org")},
		},
		"a hostname is as old as its oldest route": {
			1,
			[]string{wideRoute("w", 1), hostRoute("a", 2), hostRoute("b", 3), routeOf(aged("c", 4), toWeb+", hostnames: [a.org]"+oneRule)},
			"a.org: a c w|b.org: b|*: w",
			[]string{without("b", "b.org")},
		},
		"many hostnames of a route": {
			1,
			[]string{wideRoute("w", 2), routeOf(aged("r", 3), toWeb+", hostnames: [e.org, d.org, c.org, b.org, a.org]"+oneRule)},
			"a.org,b.org,c.org,d.org,e.org: r w|*: w", nil,
		},
		"many hostnames of a route, without room": {
			0,
			[]string{wideRoute("w", 2), routeOf(aged("r", 3), toWeb+", hostnames: [e.org, d.org, c.org, b.org, a.org]"+oneRule)},
			"a.org,b.org,c.org,d.org,e.org: r|*: w",
			[]string{without("r", "a.org, b.org, c.org and 2 more")},
		},
		"a hostname of its own is no copy": {
			1,
			[]string{routeOf(aged("w", 1), toFallback+`, hostnames: ["*.org", a.org]`), hostRoute("b", 2), hostRoute("c", 3)},
			"a.org,*.org: w|b.org: b w|c.org: c|*:",
			[]string{"default/c: spec.hostnames: Invalid value: \"c.org\""},
		},
		"an older hostname of its own is no copy": {
			1,
			[]string{hostRoute("a", 1), hostRoute("b", 2), routeOf(aged("w", 3), toFallback+`, hostnames: ["*.org", a.org]`)},
			"a.org: w a|b.org: b w|*.org: w|*:", nil,
		},
		"a hostname of its own, without room for others": {
			2,
			[]string{wideRoute("v", 2), hostRoute("b", 3), routeOf(aged("w", 4), toFallback+`, hostnames: ["*.org", a.org]`)},
			"a.org,*.org: w|b.org: b w v|*: v",
			[]string{without("w", "*.org, a.org")},
		},
		"wider hostnames together": {
			3,
			[]string{wideRoute("v", 1), routeOf(aged("w", 1), toFallback+`, hostnames: ["*.org"]`), hostRoute("a", 2)},
			"a.org: a w v|*.org: w v|*: v", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildWithin(t, c.budget, append(c.routes, limpetClass, gatewayOf("web", onPort80, ""))...)
			if got := listMatches(b); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			isAdvice := func(p report.Problem) bool { return p.Advice } // of equal matches
			compilertest.CheckProblems(t, slices.DeleteFunc(b.rep.Warnings(), isAdvice), c.warnings...)
		})
	}
}

// listMatches lists the hosts of port 80 with the routes of their matches.
func listMatches(b *built) string {
	text := strings.NewReplacer(" default/web/http:", ":", "/0/0", "", "/0/1", "", "/0/2", "", "/0/3", "").Replace(b.String())
	return strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(text, "0.0.0.0:80\n")), "\n", "|")
}

// TestCopiesApart holds what is limited by itself, or not at all: listeners, streams, and proxies of a control plane.
func TestCopiesApart(t *testing.T) {
	web := gatewayOf("web", onPort80+", {name: more, protocol: HTTP, port: 81}", "")
	narrow := routeOf(aged("b", 3), "parentRefs: [{name: web, sectionName: more}], hostnames: [b.org]"+oneRule)
	b := buildWithin(t, 2, limpetClass, web, wideRoute("w", 1), narrow, routeOf(aged("a", 2), "parentRefs: [{name: web, sectionName: http}], hostnames: [a.org]"+oneRule))
	checkText(t, b, `0.0.0.0:80
		a.org default/web/http: a/0/0 w/0/0
		* default/web/http: w/0/0
		0.0.0.0:81
		b.org default/web/more: b/0/0 w/0/0
		* default/web/more: w/0/0`)
	compilertest.CheckProblems(t, b.rep.Warnings())
	if in := NewInputPerGateway(compilertest.Admit(t, web), "a"); in.budget.All != 0 {
		t.Errorf("a control plane lays routes out itself, and is held to %d bytes", in.budget.All)
	}
}

// TestSizeOf holds that all text which a rule's requests need is counted for each match, and no rule that is dropped.
func TestSizeOf(t *testing.T) {
	const (
		each     = len("defaultr") + matchOverhead
		value    = "abcdefghij"
		filters  = `[{"type":"RequestHeaderModifier","requestHeaderModifier":{"set":[{"name":"a","value":"abcdefghij"}]}}]`
		backends = `[{"group":"","kind":"Service","name":"a","port":80,"weight":1}]`
	)
	for name, c := range map[string]struct {
		rules string
		want  int
	}{
		"no match":         {"{matches: []}", each},
		"two rules":        {"{}, {}", 2 * (each + len("/"))},
		"a path":           {"{matches: [{path: {value: /" + value + "}}]}", each + 11},
		"headers":          {"{matches: [{headers: [{name: abc, value: " + value + "}, {name: abcd, value: b}]}]}", each + 2*valueOverhead + 19},
		"a query":          {"{matches: [{queryParams: [{name: abc, value: " + value + "}]}]}", each + valueOverhead + 14},
		"a method":         {"{matches: [{method: GET}]}", each + 4},
		"matches":          {"{matches: [{path: {value: /a}}, {path: {value: /b}}]}", 2 * (each + 2)},
		"filters of each":  {"{matches: [{}, {}], filters: " + filters + "}", 2 * (each + len("/") + len(filters))},
		"backends of each": {"{matches: [{}, {}], backendRefs: " + backends + "}", 2 * (each + len("/") + len(backends))},
	} {
		route := compilertest.Admit(t, routeOf("r", "rules: ["+c.rules+"]")).Routes[0]
		if got := sizeOf(route); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// tallyOf counts all routes.
func tallyOf(in Input) *Tally { return NewTally(in).b.tally() }

// layOut says what there is room for.
func layOut(in Input) *Layout {
	tally := tallyOf(in)
	first := tally.Layout(in.order)
	if !first.Equal(tally.Layout(in.order)) {
		panic("a tally that is asked twice says something else")
	}
	return first
}

// TestLayoutStays has routes come and go at random on Gateways with little room: what is left out is always what laying out all
// Gateways leaves out, and the same Layout while routes of Gateways change that have room.
func TestLayoutStays(t *testing.T) {
	documents := []string{limpetClass}
	for i, gateway := range []string{"web, namespace: a", "web, namespace: b", "web, namespace: c", "more, namespace: a"} {
		documents = append(documents, gatewayOf(gateway, strings.Replace(onPort80, "80", fmt.Sprint(80+i), 1), ""))
	}
	hostnames, to := []string{"a.org", `"*.org"`, "b.org", `"*.org", c.org`}, []string{toWeb, strings.Replace(toWeb, "web", "more", 1)}
	for i := range 60 {
		metadata := aged(fmt.Sprintf("r%d, namespace: %c", i, "bacaaa"[i%6]), i%28+1)
		documents = append(documents, routeOf(metadata, to[i%2]+", hostnames: ["+hostnames[i/6%4]+"]"))
	}
	objects, stayed := compilertest.Admit(t, documents...), 0
	for seed := range 24 {
		in := NewInput(objects, netip.MustParseAddr("0.0.0.0"))
		in.budget = newBudget((6 + 2*seed) * (usualSize + 1))
		random, tally, has, before := rand.New(rand.NewPCG(uint64(seed), 1)), NewTally(in), map[*Route]bool{}, &Layout{}
		for range 100 {
			route := objects.Routes[random.IntN(len(objects.Routes))]
			if has[route] = !has[route]; has[route] {
				tally.Set(route.Ref(), route)
			} else {
				tally.Set(route.Ref(), nil)
			}
			now := tally.Layout(in.order)
			if _, want := tally.layOutAll(in.order); !now.Equal(want) {
				t.Fatalf("seed %d: left out are %v, %v; want %v, %v", seed, now.routes, now.copies, want.routes, want.copies)
			}
			if now == before && len(now.routes) > 0 {
				stayed++
			}
			before = now
		}
	}
	if stayed < 50 {
		t.Errorf("the layout stays in %d changes", stayed)
	}
}

// TestUncountedCopies: copies are not counted where a Gateway's routes have no room without them, or a namespace's on all Gateways. They may
// be as many as these may have then, and leave others less of what all Gateways may have together.
func TestUncountedCopies(t *testing.T) {
	for _, gateway := range []string{"web", "more"} {
		documents := []string{limpetClass, gatewayOf("more, namespace: a", strings.Replace(onPort80, "80", "70", 1), "")}
		for i, namespace := range []string{"a", "b", "c"} {
			add := func(name, parent, hostname string, matches int) {
				documents = append(documents, routeOf(aged(name+", namespace: "+namespace, min(len(documents), 28)), fmt.Sprintf(
					"parentRefs: [{name: %s}], hostnames: ['%s'], rules: [{matches: [%s]}]", parent, hostname,
					strings.TrimSuffix(strings.Repeat(usualMatch+", ", matches), ", "))))
			}
			documents = append(documents, gatewayOf("web, namespace: "+namespace, strings.Replace(onPort80, "80", fmt.Sprint(80+i), 1), ""))
			add("w", "web", "*.org", 4) // which hosts have copies of
			for host := range []int{10, 8, 8}[i] {
				add(fmt.Sprint("h", host), "web", fmt.Sprintf("h%d.org", host), 1)
			}
			if i == 0 {
				add("x", gateway, "x.com", 64) // so that there is no room
			}
		}
		in := NewInput(compilertest.Admit(t, documents...), netip.MustParseAddr("0.0.0.0"))
		in.budget = newBudget(80 * (usualSize + 1))
		tally := tallyOf(in)
		now := tally.Layout(in.order)
		if _, want := tally.layOutAll(in.order); !now.Equal(want) || len(want.copies) == 0 {
			t.Errorf("%s: left out are %v, %v; want %v, %v", gateway, now.routes, now.copies, want.routes, want.copies)
		}
	}
}

// listHosts lists on which hosts routes are, as HOST ROUTE, and how much all of them come to.
func listHosts(p Port) (hosts map[string]bool, size int) {
	hosts = map[string]bool{}
	for _, h := range p.Hosts {
		for _, m := range h.Matches {
			for _, domain := range listDomains(h) {
				hosts[domain+" "+m.Route.Name] = true
			}
			size += sizeOf(m.Route)
		}
	}
	return hosts, size
}

// TestNewcomersTakeNothing adds routes at random, the older ones first: no host loses one that it had, and there are never more than
// there is room for.
//
// requirements: S75, S86
func TestNewcomersTakeNothing(t *testing.T) {
	const budget = 20 * (usualSize + 1)
	hostnames := strings.Split(`|"*.org"|"*.b.org"|"*.org", a.org|"*.org", c.b.org|"*.org", "*.b.org"|a.org|b.org|c.b.org|d.b.org|e.com|a.org, e.com`, "|")
	full, shut := 0, 0
	for seed := range 60 {
		random, documents := rand.New(rand.NewPCG(uint64(seed), 1)), []string{limpetClass, gatewayOf("web", onPort80, "")}
		for day := range 14 {
			documents = append(documents, routeOf(aged(string(rune('a'+random.IntN(26)))+fmt.Sprint(day), day+1),
				toFallback+", hostnames: ["+hostnames[random.IntN(len(hostnames))]+"]"))
		}
		objects, before := compilertest.Admit(t, documents...), map[string]bool{}
		for n := range objects.Routes {
			part := *objects
			part.Routes = objects.Routes[:n+1]
			in := NewInput(&part, netip.MustParseAddr("0.0.0.0"))
			in.budget = newBudget(budget)
			b := newBuilt(Build(in))
			now, size := listHosts(b.ports[0])
			for c := range before {
				if !now[c] {
					t.Fatalf("seed %d: the newcomer %s takes %q:\n%s", seed, part.Routes[n], c, b)
				}
			}
			if size > budget || size > b.usage.All.Bytes {
				t.Fatalf("seed %d: all come to %d bytes, and need %d:\n%s", seed, size, b.usage.All.Bytes, b)
			}
			layout := layOut(in)
			shut, full = shut+len(layout.routes), full+len(layout.copies)
			before = now
		}
	}
	if full < 10 || shut < 10 {
		t.Errorf("there was no room for copies only %d times, and for routes %d times", full, shut)
	}
}

// TestStreamsAreNotCopied: a host's connections are all of its own route, whatever routes there are for wider hostnames.
func TestStreamsAreNotCopied(t *testing.T) {
	tlsRoute := func(metadata, hostname string) string {
		route := routeOf(metadata, toWeb+", hostnames: ["+hostname+"], rules: [{backendRefs: [{name: app, port: 80}]}]")
		return strings.Replace(strings.Replace(route, "kind: HTTPRoute", "kind: TLSRoute", 1), "/v1\n", "/v1alpha2\n", 1)
	}
	b := buildAll(t, limpetClass, gatewayOf("web", "{name: tls, protocol: TLS, port: 443, tls: {mode: Passthrough}}", ""),
		tlsRoute(aged("w", 1), `"*.org"`), tlsRoute(aged("v", 2), `"*.org"`), tlsRoute(aged("a", 3), "a.org"))
	var got []string
	for _, h := range b.ports[0].Hosts {
		for _, s := range h.Streams {
			got = append(got, h.Domain+" "+s.Route.Name)
		}
	}
	if want := []string{"a.org a", "*.org w", "*.org v"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
