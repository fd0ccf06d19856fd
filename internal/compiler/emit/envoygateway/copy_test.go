package envoygateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const twoBackends = `{name: split, matches: [{path: {value: /cart}}], backendRefs: [{name: a, port: 8080, weight: 3}, {name: b, port: 8080, weight: 0}]}`

// A split is in its route once more for each backend; the filter knows all clusters, and the session filter and the fence all routes.
func TestCopiesOfASplit(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute, twoBackends)
	out := emit(t, plan)
	out.checkProblems(t)
	p := out.Policies[0]
	for i, want := range []string{"rule/0/backend/0", "rule/0/backend/1", "rule/1/backend/0", "rule/2/backend/0"} {
		lead, err := policyconfig.ParseLead(p.Leads[i])
		if err != nil || lead.Cluster != "httproute/shop/r/"+want {
			t.Errorf("got %q, %v, want a cluster %s", p.Leads[i], err, want)
		}
		// The copies' numbers are those of their backends, and each matches the value of its own.
		match := fmt.Sprintf(`"headers":[{"name":"x-limpet-pin-backend","value":%q}],"path":{"value":"/cart"}`, lead.Value())
		if n := strings.Count(out.spec(t, "HTTPRoute"), match); n != 1 {
			t.Errorf("%d copies match %s", n, match)
		}
	}
	if want := 3; len(p.Routes) != want {
		t.Errorf("got the routes %q, want %d", p.Routes, want)
	}
	out.checkParts(t, "HTTPRoute", []string{`"weight":0`, `"remove":["x-limpet-pin","x-limpet-pin-backend"]`})
	if n := strings.Count(out.spec(t, "HTTPRoute"), `"name":"split"`); n != 1 {
		t.Errorf("%d rules have the name", n)
	}
	out.checkParts(t, "EnvoyPatchPolicy", []string{"rule/0/backend/0", "rule/1/backend/0", "rule/2/backend/0"}, "rule/0/backend/1", "overprovisioning")
}

// What refuses requests comes before limpet, which may lead them to a copy.
func TestChecksComeFirst(t *testing.T) {
	plan, a := newPlan(t, object.KindHTTPRoute, oneBackend)
	proxy := newObject(t, kindProxy, "mine", `{filterOrder: [{name: envoy.filters.http.stateful_session, after: envoy.filters.http.wasm}]}`)
	a.Listener.Gateway.Parameters = &ir.ParametersRef{Ref: proxy.Ref}
	plan.Objects[kindProxy] = []*ir.Object{&proxy}
	emit(t, plan).checkParts(t, "EnvoyProxy", []string{`"filterOrder":[{"after":"envoy.filters.http.wasm","name":"envoy.filters.http.stateful_session"},` +
		`{"after":"envoy.filters.http.rbac","name":"envoy.filters.http.wasm"},{"after":"envoy.filters.http.local_ratelimit","name":"envoy.filters.http.wasm"},` +
		`{"after":"envoy.filters.http.ratelimit","name":"envoy.filters.http.wasm"},{"after":"envoy.filters.http.wasm","name":"envoy.filters.http.stateful_session"}]`})
}

// Routes take 16 rules: four splits of three backends fit, and a fifth has no room.
func TestCopiesFit(t *testing.T) {
	listener := newGateway(t, "http:80").Listeners[0]
	const split = `{backendRefs: [{name: a, port: 8080}, {name: b, port: 8080}, {name: c, port: 8080}]}`
	for rules, full := range map[int]int{4: 0, 5: 2} { // of five, three have copies: these are 14 rules, and there is no room for 3 more
		route := newRule(t, object.KindHTTPRoute, "r", strings.Repeat(split+", ", rules-1)+split).Route
		var attached []*ir.AttachedRule
		for i := range rules {
			rule := newRule(t, object.KindHTTPRoute, "r", split)
			rule.Route, rule.Index = route, i
			route.Rules = append(route.Rules[:i], rule)
			attached = append(attached, attach(rule, listener, "*", newSession(newPolicy(fmt.Sprint("p", i), 0))))
		}
		if got := len(emit(t, planOf(attached...)).problems); got != full {
			t.Errorf("of %d splits %d have no room, want %d", rules, got, full)
		}
	}
}

// A rule of one backend whose sessions are a split's too says which backend theirs is; its requests need no header.
func TestSessionsSharedWithASplit(t *testing.T) {
	listener := newGateway(t, "http:80").Listeners[0]
	shared, single := newPolicy("split", 0), newPolicy("single", 0)
	shared.Scope, single.Scope = "shared", "shared"
	out := emit(t, planOf(
		attach(newRule(t, object.KindHTTPRoute, "r", twoBackends), listener, "*", newSession(shared)),
		attach(newRule(t, object.KindHTTPRoute, "s", `{backendRefs: [{name: a, port: 8080}]}`), listener, "*", newSession(single))))
	own, err := policyconfig.ParseLead(out.Policies[0].Leads[0])
	first, err2 := policyconfig.ParseLead(out.Policies[1].Leads[0])
	if err != nil || err2 != nil || own.Backend != first.Backend || own.Value() != "" || first.Value() == "" {
		t.Errorf("got %q and %q", out.Policies[0].Leads, out.Policies[1].Leads)
	}
}

// What Envoy Gateway's own policies say of a rule by its name does not hold for copies, which have none.
func TestPoliciesThatMissCopies(t *testing.T) {
	for spec, reported := range map[string]bool{
		`{targetRefs: [{kind: HTTPRoute, name: r, sectionName: split}]}`: true,
		`{targetRefs: [{kind: HTTPRoute, name: r, sectionName: other}]}`: false,
		`{targetRefs: [{kind: HTTPRoute, name: r}]}`:                     false,
		`{targetRef: {kind: HTTPRoute, name: r, sectionName: split}}`:    true,
		`{targetSelectors: [{kind: HTTPRoute, matchLabels: {a: b}}]}`:    false,
	} {
		plan, a := newPlan(t, object.KindHTTPRoute, twoBackends)
		a.Name = "split"
		traffic := newObject(t, kindTraffic, "near", spec)
		plan.Objects[kindTraffic] = []*ir.Object{&traffic}
		if got := len(emit(t, plan).problems) == 1; got != reported {
			t.Errorf("%s: reported: %t, want %t", spec, got, reported)
		}
	}
}

// Copies tell the backends of revoked sessions apart; where they have no room, all sessions of the rule are void that are as old.
func TestRevokedBackendOfASplit(t *testing.T) {
	const item = "00000001 before 2026-11-22T08:00:00Z"
	for header, copied := range map[string]bool{"": true, strings.Repeat("{name: x, value: y}, ", ir.MaxHeaders): false} {
		rule := newRule(t, object.KindHTTPRoute, "r", `{matches: [{headers: [`+header+`]}], backendRefs: [{name: a, port: 8080}, {name: b, port: 8080}]}`)
		p := newPolicy("p", 0)
		p.Revocation.Backends = []string{item}
		out := emit(t, planOf(attach(rule, newGateway(t, "http:80").Listeners[0], "*", newSession(p))))
		got := out.Policies[0].Revocation
		if copied != slices.Contains(got.Backends, item) || copied != (got.NotBefore == 0) {
			t.Errorf("with copies: %t: %+v", copied, got)
		}
		if !copied {
			out.checkProblems(t, "spec.rules[0].backendRefs: not supported", "spec.rules[0].backendRefs: without copies of the rule no token tells")
		}
	}
}
