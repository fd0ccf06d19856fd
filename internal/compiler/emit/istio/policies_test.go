package istio

import (
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func TestRouteNames(t *testing.T) {
	for _, c := range []struct {
		kind, name string
		matches    []string
		want       []string
	}{
		{object.KindHTTPRoute, "", nil, []string{"shop.a.0"}},
		{object.KindHTTPRoute, "", []string{"", ""}, []string{"shop.a.0", "shop.a.0"}},
		{object.KindHTTPRoute, "cart", []string{""}, []string{"cart"}},
		{object.KindVirtualService, "", nil, []string{""}},
		{object.KindVirtualService, "cart", nil, []string{"cart"}},
		{object.KindVirtualService, "cart", []string{"one", ""}, []string{"cart.one", "cart"}},
		{object.KindVirtualService, "", []string{"one"}, []string{".one"}},
	} {
		rule := newRule(c.kind, "a", nil, c.matches...)
		rule.Name = c.name
		if got := routeNames(rule); !slices.Equal(got, c.want) {
			t.Errorf("%s with the name %q and the matches %q: got %q, want %q", c.kind, c.name, c.matches, got, c.want)
		}
	}
}

func TestClusterName(t *testing.T) {
	host := object.Ref{Kind: "Hostname", Name: "api.example.com"}
	for want, b := range map[string]*ir.Backend{
		"outbound|8080||a.shop.svc.cluster.local": newService("a"),
		"outbound|443|v2|api.example.com":         {Ref: host, Port: 443, Subset: "v2"},
	} {
		if got := clusterName(b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// checkPolicies compares the filter's policies of a rule by what differs between targets.
func checkPolicies(t *testing.T, out emitted, want ...policyconfig.Policy) {
	t.Helper()
	same := func(got, want policyconfig.Policy) bool {
		return got.Name == want.Name && got.Cookie.Path == want.Cookie.Path && slices.Equal(got.Routes, want.Routes) &&
			slices.Equal(got.Clusters, want.Clusters)
	}
	if !slices.EqualFunc(out.Plugin.Policies, want, same) {
		t.Errorf("got %+v, want %+v", out.Plugin.Policies, want)
	}
}

func wantPolicy(name, path string, routes, clusters []string) policyconfig.Policy {
	return policyconfig.Policy{Name: name, Cookie: &policyconfig.Cookie{Path: path}, Routes: routes, Clusters: clusters}
}

// A rule of Gateway API has one name for the routes of all its matches, so they share a cookie; those of a VirtualService
// have their own.
func TestMatchesWithCookiesOfTheirOwn(t *testing.T) {
	backends := []*ir.Backend{newService("a")}
	session := newSession(newPolicy("shop/a/rule/0/match/0", "/cart/x", 0, 2), newPolicy("shop/a/rule/0/match/1", "/cart/y", 1))
	session.Name = "shop/a/rule/0"
	web := newListener(object.KindGateway, "web")
	shared := emit(t, planOf(attach(newRule(object.KindHTTPRoute, "a", backends, "", "", ""), web, session)), Options{})
	checkPolicies(t, shared, wantPolicy("shop/a/rule/0", "/cart", []string{"shop.a.0"}, nil))
	shared.checkWarnings(t, `spec.rules[0].matches: not supported by istio: a cookie path for each match; Istio gives their routes one name, so the path is "/cart" for all`)

	own := emit(t, planOf(attach(newRule(object.KindVirtualService, "a", backends, "x", "y", "z"), web, session)), Options{})
	checkPolicies(t, own, wantPolicy("shop/a/rule/0/match/0", "/cart/x", []string{".x", ".z"}, nil),
		wantPolicy("shop/a/rule/0/match/1", "/cart/y", []string{".y"}, nil))
	own.checkWarnings(t)
}

// Istio chooses a backend by weight before it looks for a session's host, so that each backend has a session of its own.
func TestBackendsWithSessionsOfTheirOwn(t *testing.T) {
	a, b := newService("a"), newService("b")
	rule := attach(newRule(object.KindHTTPRoute, "r", []*ir.Backend{a, b}, ""), newListener(object.KindGateway, "web"),
		newSession(newPolicy("shop/r/rule/0/a", "/", 0)), newSession(newPolicy("shop/r/rule/0/b", "/", 0)))
	rule.Sessions.PerBackend, rule.Sessions.WantsShared = true, true
	rule.Sessions.All[0].Backend, rule.Sessions.All[1].Backend = a, b
	out := emit(t, planOf(rule), Options{})
	checkPolicies(t, out, wantPolicy("shop/r/rule/0/a", "/", []string{"shop.r.0"}, []string{"outbound|8080||a.shop.svc.cluster.local"}),
		wantPolicy("shop/r/rule/0/b", "/", []string{"shop.r.0"}, []string{"outbound|8080||b.shop.svc.cluster.local"}))
	out.checkWarnings(t, "spec.rules[0].backendRefs: not supported by istio: one session for backends of which some speak HTTP/1.1")

	rule.Sessions.WantsShared, rule.Sessions.All[1].Policies[0].OnHostLost = false, policyconfig.Fail
	emit(t, planOf(rule), Options{}).checkWarnings(t, "spec.rules[0].backendRefs: not supported by istio: the backends differ in onHostLost")
	b.Port = 0
	emit(t, planOf(rule), Options{}).checkWarnings(t, "spec.rules[0]: not supported by istio: the port of b.shop.svc.cluster.local is not known")
}

func TestRefusedRulesHaveNoPolicies(t *testing.T) {
	rule := attach(newRule(object.KindHTTPRoute, "a", []*ir.Backend{newService("a")}, ""), newListener(object.KindGateway, "web"),
		newSession(newPolicy("shop/a/rule/0", "/", 0)))
	rule.Sessions.Refused = true
	if out := emit(t, planOf(rule), Options{}); len(out.Plugin.Policies) != 0 || len(out.documents) != 0 {
		t.Errorf("got %+v in %q, want nothing", out.Plugin.Policies, out.names())
	}
}

func TestCommonPath(t *testing.T) {
	for _, c := range [][3]string{
		{"/a/b", "/a/c", "/a"},
		{"/a", "/a/b", "/a"},
		{"/a/b/c", "/a/b/d/e", "/a/b"},
		{"/ab", "/a", "/"},
		{"/a", "/b", "/"},
		{"", "/a", "/"},
		{"/a", "", "/"},
		{"/", "/a", "/"},
		{"/a", "/a", "/a"},
	} {
		if got := commonPath(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: got %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
