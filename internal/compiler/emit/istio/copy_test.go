package istio

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// newSplit is a rule with a session over the Services a and b, on a listener.
func newSplit(kind string, l *ir.GatewayListener, matchNames ...string) *ir.AttachedRule {
	rule := newRule(kind, "r", []*ir.Backend{newService("a"), newService("b")}, matchNames...)
	rule.Name = "split"
	return attach(rule, l, newSession(newPolicy("shop/r/rule/split", "/", 0)))
}

// find gives the documents of a kind, as JSON.
func (e emitted) find(t *testing.T, kind string) (found []string) {
	t.Helper()
	for _, d := range e.documents {
		if d["kind"] != kind {
			continue
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, string(text))
	}
	return found
}

func checkParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

// A split of Gateway API is there once more for each backend, in a route of limpet's under the rule's name, on the Gateways alone where
// limpet fences the header.
func TestCopiesOfARoute(t *testing.T) {
	rule := newSplit(object.KindHTTPRoute, newListener(object.KindGateway, "web"), "", "")
	out := emit(t, planOf(rule), Options{Owner: "team"})
	out.checkWarnings(t)
	p := out.Plugin.Policies[0]
	copies := out.find(t, "HTTPRoute")
	if len(p.Leads) != 2 || len(copies) != 2 || !slices.Equal(p.Routes, []string{"split"}) {
		t.Fatalf("got the leads %q, the routes %q and %q", p.Leads, p.Routes, copies)
	}
	for i, b := range rule.DistinctBackends() {
		lead, err := policyconfig.ParseLead(p.Leads[i])
		if err != nil || lead.Cluster != clusterName(b) || lead.Backend != b.Tag {
			t.Errorf("got %q, %v for %s", p.Leads[i], err, b.Name)
		}
		match := fmt.Sprintf(`{"headers":[{"name":"x-limpet-pin-backend","value":%q}],"path":{"value":"/"}}`, lead.Value())
		checkParts(t, copies[i], `"matches":[`+match+","+match+"]", fmt.Sprintf(`"backendRefs":[{"name":%q,"port":8080}]`, b.Name),
			`"name":"split"`, `"parentRefs":[{"name":"web"}]`, `"limpet.dev/owner":"team"`, fmt.Sprintf(`"name":"limpet-r-0-%08x"`, b.Tag))
	}
	checkParts(t, out.spec(t, "EnvoyFilter"), `"mutations":[{"remove":"x-limpet-pin"},{"remove":"x-limpet-pin-backend"}]`,
		`"request_headers_to_remove":["x-limpet-pin","x-limpet-pin-backend"]`)
}

// The header by which copies are matched is fenced without a split too: those of one that was there may still be.
func TestTheEarlyFenceStays(t *testing.T) {
	rule := newRule(object.KindHTTPRoute, "r", []*ir.Backend{newService("a")}, "")
	plan := planOf(attach(rule, newListener(object.KindGateway, "web"), newSession(newPolicy("shop/r/rule/0", "/", 0))))
	for _, o := range []Options{{}, {NativePin: true}} {
		out := emit(t, plan, o)
		checkParts(t, out.spec(t, "EnvoyFilter"), `"mutations":[{"remove":"x-limpet-pin"},{"remove":"x-limpet-pin-backend"}]`)
	}
}

// A VirtualService has its copies before the rule, under names of their own; requests of the mesh, where no header is fenced, don't match
// them.
func TestCopiesInAVirtualService(t *testing.T) {
	edge := newListener(object.KindIstioGateway, "edge")
	edge.Gateway.Selector = map[string]string{"app": "edge"}
	rule := newSplit(object.KindVirtualService, edge, "", "exact", "inside")
	rule.Sessions.All[0].Policies[0].Matches = []int{0, 1}
	rule.Route.JSON = []byte(strings.Replace(string(rule.Route.JSON), `{"name":"inside"}`, `{"gateways":["mesh"]}`, 1))
	out := emit(t, planOf(rule), Options{})
	out.checkWarnings(t)
	a, b := newService("a").Tag, newService("b").Tag
	own := func(tag uint32) string { return fmt.Sprintf("split-limpet-%08x", tag) }
	want := []string{"split", own(a), own(b), "split.exact", own(a) + ".exact", own(b) + ".exact"}
	if got := out.Plugin.Policies[0].Routes; !slices.Equal(got, want) {
		t.Errorf("got the routes %q, want %q", got, want)
	}
	for _, name := range want {
		checkParts(t, out.spec(t, "EnvoyFilter"), fmt.Sprintf(`"route":{"name":%q}`, name))
	}
	var spec struct {
		HTTP []struct {
			Name  string
			Match []struct {
				Gateways []string
				Headers  map[string]struct{ Exact string }
			}
			Route []struct{ Weight int }
		}
	}
	if err := json.Unmarshal([]byte(out.spec(t, "VirtualService")), &spec); err != nil || len(spec.HTTP) != 3 {
		t.Fatalf("%v: %s", err, out.YAML)
	}
	for i, text := range out.Plugin.Policies[0].Leads {
		lead, _ := policyconfig.ParseLead(text)
		c := spec.HTTP[i]
		for _, m := range c.Match {
			if m.Headers["x-limpet-pin-backend"].Exact != lead.Value() || !slices.Equal(m.Gateways, []string{"edge"}) || len(c.Route) != 1 || len(c.Match) != 2 {
				t.Errorf("the copy for %s is %+v", text, c)
			}
		}
	}
	if last := spec.HTTP[2]; last.Name != "" || len(last.Route) != 2 || last.Route[0].Weight != 1 || last.Match[0].Headers != nil {
		t.Errorf("the rule itself is %+v", last)
	}
}

// A rule whose matches are all for other Gateways has no copies, which would take every request, and no sessions there.
func TestNoCopiesWithoutMatches(t *testing.T) {
	edge := newListener(object.KindIstioGateway, "edge")
	edge.Gateway.Selector = map[string]string{"app": "edge"}
	other := newListener(object.KindIstioGateway, "other")
	other.Gateway.Selector = map[string]string{"app": "other"}
	const want = "spec.rules[0].match: not supported by istio: sessions at Istio Gateway shop/other, for no match is on that Gateway"
	for gateways, led := range map[string]bool{`"mesh"`: false, `"mesh","edge"`: true} {
		rule := newSplit(object.KindVirtualService, edge, "inside")
		rule.Route.JSON = []byte(strings.NewReplacer(`{"name":"inside"}`, `{"name":"inside","gateways":[`+gateways+`]}`,
			`["edge","mesh"]`, `["edge","mesh","other"]`).Replace(string(rule.Route.JSON)))
		plan := planOf(rule)
		plan.Rules = append(plan.Rules, attach(rule.Rule, other, rule.Sessions.All...))
		out := emit(t, plan, Options{})
		if !slices.ContainsFunc(out.warnings, func(w string) bool { return strings.HasPrefix(w, want) }) {
			t.Errorf("[%s]: got the warnings %q", gateways, out.warnings)
		}
		if copies := strings.Count(string(out.YAML), "name: split-limpet-"); strings.Contains(string(out.YAML), "match: []") ||
			len(out.find(t, "WasmPlugin")) > 1 || led != (len(out.find(t, "WasmPlugin")) == 1) || led != (copies > 0) {
			t.Errorf("[%s]: led: %t: %s", gateways, led, out.YAML)
		}
	}
}

// A rule that has no room for its copies goes without sessions, and is told.
func TestSplitsWithoutCopies(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	full := newSplit(object.KindHTTPRoute, web, "")
	header := `{"name": "h", "value": "v"}`
	full.Route.JSON = []byte(strings.Replace(string(full.Route.JSON), `"path":`, `"headers": [`+strings.Repeat(header+", ", 15)+header+`], "path":`, 1))
	long := newSplit(object.KindHTTPRoute, web, "")
	long.Route.Name = strings.Repeat("r", 240)
	var many []*ir.Backend
	for i := range policyconfig.MaxLeads + 1 {
		many = append(many, newService(fmt.Sprint("s", i)))
	}
	wide := attach(newRule(object.KindVirtualService, "r", many, "m"), web, newSession(newPolicy("shop/r/rule/0", "/", 0)))
	open := newSplit(object.KindHTTPRoute, web, "")
	open.Backends[0].Backend.Port = 0
	apart := newSplit(object.KindHTTPRoute, web, "")
	apart.Route.JSON = []byte(strings.Replace(string(apart.Route.JSON), `{"name":"web"}`, `{"kind":"ListenerSet","name":"x"}`, 1))
	for want, rule := range map[string]*ir.AttachedRule{
		"a match has 16 headers": full, "the name of its copy for each backend would be too long": long,
		"one session over 65 backends; there is room for 64": wide, "the port of a.shop.svc.cluster.local is not known, by which": open,
		"none of its route's parents is known to be Gateway shop/web": apart,
	} {
		out := emit(t, planOf(rule), Options{})
		out.checkWarnings(t, "spec.rules[0]: not supported by istio: "+want)
		if len(out.documents) != 0 {
			t.Errorf("%s: got %q, want nothing", want, out.names())
		}
	}
	named := newSplit(object.KindHTTPRoute, web, "")
	theirs := newRule(object.KindHTTPRoute, copyName(named.Rule, named.Backends[0].Backend), nil)
	plan := planOf(named)
	plan.Routes = []*ir.RouteObject{theirs.Route}
	if out := emit(t, plan, Options{}); len(out.documents) != 0 || !strings.Contains(strings.Join(out.warnings, "\n"), "this one is not limpet's: rename it") {
		t.Errorf("over a user's route: %q, %q", out.names(), out.warnings)
	}
}

// A rule of one backend whose sessions are a split's too says which backend theirs is; its requests need no header.
func TestSessionsSharedWithASplit(t *testing.T) {
	web := newListener(object.KindGateway, "web")
	split := newSplit(object.KindHTTPRoute, web, "")
	single := attach(newRule(object.KindHTTPRoute, "s", []*ir.Backend{split.Backends[0].Backend}, ""), web,
		newSession(newPolicy("shop/r/single", "/", 0)))
	split.Sessions.All[0].Policies[0].Scope, single.Sessions.All[0].Policies[0].Scope = "shared", "shared"
	policies := emit(t, planOf(split, single), Options{}).Plugin.Policies
	led, err := policyconfig.ParseLead(policies[0].Leads[0])
	own, err2 := policyconfig.ParseLead(policies[1].Leads[0])
	if err != nil || err2 != nil || own.Backend != led.Backend || own.Value() != "" || led.Value() == "" {
		t.Errorf("got %q and %q", policies[0].Leads, policies[1].Leads)
	}
}

// Copies are behind a ListenerSet where its Gateway is one on which the rule is led: on another no header is fenced, and so it may be where
// the set is not in the input.
func TestCopiesBehindListenerSets(t *testing.T) {
	const open = "spec.rules[0]: not supported by istio: its sessions go by the weights behind spec.parentRefs[1]"
	for parent, want := range map[string]string{`{"name":"web"}`: "", `{"name":"other"}`: open, `{"name":"web","namespace":"a"}`: open, "": open} {
		rule := newSplit(object.KindHTTPRoute, newListener(object.KindGateway, "web"), "")
		refs := `{"name":"web"},{"kind":"ListenerSet","name":"x"},{"kind":"Service","name":"a"}`
		rule.Route.JSON = []byte(strings.Replace(string(rule.Route.JSON), `{"name":"web"}`, refs, 1))
		plan := planOf(rule)
		if parent != "" {
			set := newObject(object.KindListenerSet, "x", `"spec": {"parentRef": `+parent+`}`)
			plan.Objects = map[string][]*ir.Object{object.KindListenerSet: {&set}}
		}
		out := emit(t, plan, Options{})
		parents := `"parentRefs":[{"name":"web"},{"kind":"ListenerSet","name":"x"}]`
		if want == "" {
			out.checkWarnings(t)
		} else {
			out.checkWarnings(t, want)
			parents = `"parentRefs":[{"name":"web"}]`
		}
		copies := out.find(t, "HTTPRoute")
		if len(copies) != 2 {
			t.Fatalf("got %q", copies)
		}
		checkParts(t, copies[1], parents)
	}
}

// A VirtualService has the copies of one owner: with another's it would lose them at each other's apply. It says whose they are, and not
// that limpet manages it.
func TestOneOwnerOfAVirtualService(t *testing.T) {
	edge := newListener(object.KindIstioGateway, "edge")
	edge.Gateway.Selector = map[string]string{"app": "edge"}
	for theirs, owner := range map[string]string{"": "team-a", "team-a": "team-a", "team-b": "team-a", "team-c": ""} {
		rule := newSplit(object.KindVirtualService, edge, "m")
		if theirs != "" {
			rule.Route.Labels = map[string]string{object.OwnerLabel: theirs}
		}
		out := emit(t, planOf(rule), Options{Owner: owner})
		virtual := out.find(t, object.KindVirtualService)
		if theirs == "" || theirs == owner {
			out.checkWarnings(t)
			if len(virtual) != 1 || !strings.Contains(virtual[0], `"labels":{"limpet.dev/owner":"team-a"}`) {
				t.Errorf("%q: got %q", theirs, virtual)
			}
		} else if len(out.documents) > 0 || !strings.Contains(strings.Join(out.warnings, "\n"), fmt.Sprintf("for the owner %q, and it is %q's", owner, theirs)) {
			t.Errorf("%q's: got %q and the warnings %q", theirs, out.names(), out.warnings)
		}
	}
}

// A rule of one backend that shares sessions with a split needs the backend's port, as the split does: else it would take from tokens which
// backend they are of.
func TestSharedSessionsNeedPorts(t *testing.T) {
	edge := newListener(object.KindIstioGateway, "edge")
	edge.Gateway.Selector = map[string]string{"app": "edge"}
	split := newSplit(object.KindVirtualService, edge, "m")
	open := *split.Backends[0].Backend
	open.Port = 0
	single := newRule(object.KindVirtualService, "s", []*ir.Backend{&open}, "n")
	single.Name = "single"
	alone := attach(single, edge, newSession(newPolicy("shop/r/single", "/", 0)))
	emit(t, planOf(split, alone), Options{}).checkWarnings(t)
	split.Sessions.All[0].Policies[0].Scope, alone.Sessions.All[0].Policies[0].Scope = "shared", "shared"
	out := emit(t, planOf(split, alone), Options{})
	out.checkWarnings(t, "spec.rules[0]: not supported by istio: the port of a.shop.svc.cluster.local is not known")
	if policies := out.Plugin.Policies; len(policies) != 1 || policies[0].Name != "shop/r/rule/split" {
		t.Errorf("got the policies %v", policies)
	}
}
