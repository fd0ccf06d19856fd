package envoygateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// checkPolicies compares the filter's policies by their names of routes and clusters.
func checkPolicies(t *testing.T, out emitted, want ...policyconfig.Policy) {
	t.Helper()
	same := func(got, want policyconfig.Policy) bool {
		return got.Name == want.Name && slices.Equal(got.Routes, want.Routes) && slices.Equal(got.Clusters, want.Clusters)
	}
	if !slices.EqualFunc(out.Policies, want, same) {
		t.Errorf("got %+v, want %+v", out.Policies, want)
	}
}

// Envoy Gateway has a route for each match and hostname.
func TestPoliciesHaveEnvoyGatewaysNames(t *testing.T) {
	g := newGateway(t, "http:80", "other:80")
	rule := newRule(t, object.KindHTTPRoute, "r", `{matches: [{}, {}], backendRefs: [{name: a, port: 8080}]}`)
	on := func(l int, hostname string) *ir.AttachedRule {
		return attach(rule, g.Listeners[l], hostname, newSession(newPolicy("one", 0), newPolicy("two", 1)))
	}
	checkPolicies(t, emit(t, planOf(on(0, "a.example"), on(1, "*"))),
		policyconfig.Policy{Name: "one", Routes: []string{"httproute/shop/r/rule/0/match/0/*", "httproute/shop/r/rule/0/match/0/a_example"}},
		policyconfig.Policy{Name: "two", Routes: []string{"httproute/shop/r/rule/0/match/1/*", "httproute/shop/r/rule/0/match/1/a_example"}})

	grpc := newRule(t, object.KindGRPCRoute, "g", `{backendRefs: [{name: a, port: 8080}]}`)
	checkPolicies(t, emit(t, planOf(attach(grpc, g.Listeners[0], "*", newSession(newPolicy("p", 0))))),
		policyconfig.Policy{Name: "p", Routes: []string{"grpcroute/shop/g/rule/0/match/-1/*"}})
}

// A session of one backend is for the clusters of that backend's references, where they have clusters of their own.
func TestBackendsWithSessionsOfTheirOwn(t *testing.T) {
	listener := newGateway(t, "http:80").Listeners[0]
	routes := []string{"httproute/shop/r/rule/0/match/0/*"}
	split := newRule(t, object.KindHTTPRoute, "r",
		`{matches: [{}], backendRefs: [{name: a, port: 8080}, {name: b, port: 8080, weight: 0}, {name: c, port: 8080}, {name: a, port: 8080}]}`)
	checkPolicies(t, emit(t, planOf(attachPerBackend(split, listener))),
		policyconfig.Policy{Name: "p/a", Routes: routes, Clusters: []string{"httproute/shop/r/rule/0/backend/0", "httproute/shop/r/rule/0/backend/3"}},
		policyconfig.Policy{Name: "p/c", Routes: routes, Clusters: []string{"httproute/shop/r/rule/0/backend/2"}})

	single := newRule(t, object.KindHTTPRoute, "r", `{matches: [{}], backendRefs: [{name: a, port: 8080}]}`)
	checkPolicies(t, emit(t, planOf(attachPerBackend(single, listener))), policyconfig.Policy{Name: "p/a", Routes: routes})
}

// What stands in the way of a rule's sessions is reported, and nothing is written for it.
func TestRulesThatGoWithoutSessions(t *testing.T) {
	g := newGateway(t, "http:80", "other:80")
	split := `matches: [` + fullMatch + `], backendRefs: [{name: a, port: 8080, filters: [{type: RequestMirror}]}, {name: b, port: 8080}]`
	full := `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [` + strings.Repeat("x, ", 15) + `x]}}]`
	own := newObject(t, kindExtension, "own", `{targetRef: {kind: HTTPRoute, name: r}, wasm: []}`)
	for want, c := range map[string]struct {
		rule  string
		other bool // the second listener has different sessions for the same hostname
		own   bool
	}{
		"spec.rules[0].backendRefs: not supported by envoy-gateway: with filters":                {rule: "{" + split + "}"},
		"spec.rules[0].filters: not supported by envoy-gateway: its RequestHeade":                {rule: "{" + full + ", backendRefs: [{name: a, port: 8080}]}"},
		"spec.rules[0]: not supported by envoy-gateway: listeners shop/web/http ":                {rule: "{backendRefs: [{name: a, port: 8080}]}", other: true},
		"spec.rules[0]: not supported by envoy-gateway: its EnvoyExtensionPolicy shop/own leave": {rule: "{backendRefs: [{name: a, port: 8080}]}", own: true},
	} {
		rule := newRule(t, object.KindHTTPRoute, "r", c.rule)
		plan := planOf(attach(rule, g.Listeners[0], "*", newSession(newPolicy("p", 0))))
		if c.other {
			plan.Rules = append(plan.Rules, attach(rule, g.Listeners[1], "*"))
		}
		if c.own {
			plan.Objects[kindExtension] = []*ir.Object{&own}
		}
		out := emit(t, plan)
		out.checkProblems(t, want)
		if len(out.Policies) != 0 || len(out.documents) != 0 {
			t.Errorf("%s: got %+v in %q, want nothing", want, out.Policies, out.names())
		}
	}
}

func TestSplitsThatLoseSomething(t *testing.T) {
	listener := newGateway(t, "http:80").Listeners[0]
	zero := newRule(t, object.KindHTTPRoute, "r", `{backendRefs: [{name: a, port: 8080, weight: 0}]}`)
	emit(t, planOf(attach(zero, listener, "*", newSession(newPolicy("p", 0))))).checkProblems(t,
		"spec.rules[0].backendRefs: not supported by envoy-gateway: all weights are 0")
	mixed := attachPerBackend(newRule(t, object.KindHTTPRoute, "r", `{backendRefs: [{name: a, port: 8080}, {name: b, port: 8080}]}`), listener)
	mixed.Sessions.All[0].Policies[0].OnHostLost = policyconfig.Fail
	emit(t, planOf(mixed)).checkProblems(t, "spec.rules[0]: not supported by envoy-gateway: where a part of the split has onHostLost Fail")
}

func TestListenerNames(t *testing.T) {
	g := newGateway(t, "tls:443", "first:80", "second:80", "tls2:443")
	for i, want := range [][2]string{ // Envoy's listener, and its route table
		{"shop/web/tls", "shop/web/tls"},
		{"shop/web/first", "shop/web/first"},
		{"shop/web/first", "shop/web/first"},
		{"shop/web/tls", "shop/web/tls2"},
	} {
		if got := [2]string{listenerName(g.Listeners[i]), routeConfigurationName(g.Listeners[i])}; got != want {
			t.Errorf("%s: got %q, want %q", g.Listeners[i].Name, got, want)
		}
	}
}

// TestExtensionsByLabels holds which routes a policy of another's selects by their labels.
func TestExtensionsByLabels(t *testing.T) {
	route := &ir.RouteObject{Object: newObject(t, object.KindHTTPRoute, "r", "{}")}
	route.Labels = map[string]string{"team": "a", "tier": "web"}
	for selector, want := range map[string]bool{
		`{kind: HTTPRoute, matchLabels: {team: a}}`:                            true,
		`{kind: HTTPRoute, matchLabels: {team: a, tier: web}}`:                 true,
		`{kind: HTTPRoute, matchLabels: {team: a, tier: other}}`:               false,
		`{kind: HTTPRoute, matchLabels: {owner: a}}`:                           false,
		`{kind: HTTPRoute, matchExpressions: [{key: team, operator: Exists}]}`: true,
		`{kind: GRPCRoute, matchLabels: {team: a}}`:                            false,
		`{kind: Gateway}`: false,
	} {
		theirs := newObject(t, kindExtension, "own", "{targetSelectors: ["+selector+"]}")
		e := &emitter{plan: planOf(), rep: &report.Report{}, edited: map[string]jsonObject{}}
		e.plan.Objects[kindExtension] = []*ir.Object{&theirs}
		found := e.findOtherExtension(&sessionRule{Rule: &ir.Rule{Route: route}})
		if (found != "") != want {
			t.Errorf("%s selects the route: %t, want %t", selector, found != "", want)
		}
	}
}
