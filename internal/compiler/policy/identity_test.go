package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestScopesAreUnique tries rules that look alike.
func TestScopesAreUnique(t *testing.T) {
	long := strings.Repeat("n", 253)
	seen := map[string]Identity{}
	two := make([]gatewayv1.HTTPRouteRule, 2) // of the same matches
	for _, id := range []Identity{
		{kind: httpRoute, route: "default/cart", index: 0, rules: two},
		{kind: httpRoute, route: "default/cart", index: 1, rules: two},
		{kind: httpRoute, route: "default/cart", index: 2, name: "0"},
		{kind: httpRoute, route: "default/cart", index: 3, name: "1"},
		{kind: httpRoute, route: "default/cart", index: 4, name: "checkout"},
		{kind: httpRoute, route: "default/other", index: 4, name: "checkout"},
		{kind: httpRoute, route: "shop/cart", index: 0, rules: two},
		{kind: httpRoute, route: long[:63] + "/" + long, index: 0, name: long},
		{kind: httpRoute, route: long[:63] + "/" + long, index: 1, name: long[:252] + "m"},
	} {
		scope := id.Scope()
		if other, twice := seen[scope]; twice {
			t.Errorf("%v and %v have the scope %s", id, other, scope)
		}
		seen[scope] = id
		if len(scope) > policyconfig.MaxScope || len(id.PolicyName()) > policyconfig.MaxName {
			t.Errorf("%v: %d and %d characters", id, len(scope), len(id.PolicyName()))
		}
	}
}

// TestNamesAreStable holds the names that clients and dashboards know: another one ends sessions.
func TestNamesAreStable(t *testing.T) {
	id := Identity{kind: httpRoute, route: "default/cart", index: 2, rules: make([]gatewayv1.HTTPRouteRule, 3)}
	id.rules[0].Name = new(gatewayv1.SectionName)
	id.rules[1].Matches = rulesMatching("/shop")[0].Matches
	for got, want := range map[string]string{
		id.RouteName():  "httproute/default/cart/rule/2",
		id.PolicyName(): "default/cart/rule/2",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "pay"}.PolicyName():   "default/cart/rule/pay",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "7"}.PolicyName():     "default/cart/rule/2",
		Identity{kind: "GRPCRoute", route: "default/cart", index: 2, name: "pay"}.PolicyName(): "grpcroute/default/cart/rule/pay",
		id.Scope():            "HTTPRoute/default/cart/matches/75ff6852f9ba93fd",
		shortHash(id.Scope()): "f90a2b2fc7a5",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "pay"}.Scope(): "HTTPRoute/default/cart/rule/pay",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// rulesMatching gives rules without names, each with one match of a path prefix.
func rulesMatching(prefixes ...string) (rules []gatewayv1.HTTPRouteRule) {
	for _, p := range prefixes {
		match := gatewayv1.HTTPRouteMatch{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchType), Value: &p}}
		*match.Path.Type = gatewayv1.PathMatchPathPrefix
		rules = append(rules, gatewayv1.HTTPRouteRule{Matches: []gatewayv1.HTTPRouteMatch{match}})
	}
	return rules
}

func scopesOf(rules []gatewayv1.HTTPRouteRule) (scopes []string) {
	for i := range rules {
		scopes = append(scopes, Identity{kind: httpRoute, route: "default/cart", index: i, rules: rules}.Scope())
	}
	return scopes
}

// TestScopesOutliveOtherRules edits the rules of a route at random: whatever is inserted, deleted or moved, each rule that is
// still there has the scope that it had.
func TestScopesOutliveOtherRules(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 7))
	prefixes := []string{"/a", "/b", "/c"}
	want := map[string]string{}
	for edit := range 500 {
		switch i := random.IntN(len(prefixes) + 1); {
		case random.IntN(3) == 0 || len(prefixes) < 2:
			prefixes = slices.Insert(prefixes, i, fmt.Sprintf("/new-%d", edit))
		case random.IntN(2) == 0:
			prefixes = slices.Delete(prefixes, i%len(prefixes), i%len(prefixes)+1)
		default:
			random.Shuffle(len(prefixes), func(i, j int) { prefixes[i], prefixes[j] = prefixes[j], prefixes[i] })
		}
		for i, scope := range scopesOf(rulesMatching(prefixes...)) {
			if was := want[prefixes[i]]; was != "" && was != scope {
				t.Fatalf("edit %d: %s had the scope %s, and has %s", edit, prefixes[i], was, scope)
			}
			want[prefixes[i]] = scope
		}
	}
	seen := map[string]string{}
	for prefix, scope := range want {
		if other, twice := seen[scope]; twice {
			t.Errorf("%s and %s have the scope %s", prefix, other, scope)
		}
		seen[scope] = prefix
	}
}

// TestScopeOfMatches: what says the same has one scope, and whatever says something else has another.
func TestScopeOfMatches(t *testing.T) {
	get, exact := gatewayv1.HTTPMethodGet, gatewayv1.HeaderMatchExact
	header := func(name string) gatewayv1.HTTPHeaderMatch {
		return gatewayv1.HTTPHeaderMatch{Type: &exact, Name: gatewayv1.HTTPHeaderName(name), Value: "v"}
	}
	plain := rulesMatching("/")
	ordered, reversed, fewer, method, both := rulesMatching("/"), rulesMatching("/"), rulesMatching("/"), rulesMatching("/"), rulesMatching("/")
	ordered[0].Matches[0].Headers = []gatewayv1.HTTPHeaderMatch{header("a"), header("b")}
	reversed[0].Matches[0].Headers = []gatewayv1.HTTPHeaderMatch{header("b"), header("a")}
	fewer[0].Matches[0].Headers = []gatewayv1.HTTPHeaderMatch{header("a")}
	method[0].Matches[0].Method = &get
	both[0].Matches = append(both[0].Matches, method[0].Matches[0])
	turned := rulesMatching("/")
	turned[0].Matches = []gatewayv1.HTTPRouteMatch{both[0].Matches[1], both[0].Matches[0]}
	bare := []gatewayv1.HTTPRouteRule{{}}
	noPath := []gatewayv1.HTTPRouteRule{{Matches: make([]gatewayv1.HTTPRouteMatch, 1)}}

	groups := [][][]gatewayv1.HTTPRouteRule{{plain, bare, noPath}, {ordered, reversed}, {fewer}, {method}, {both, turned}, {rulesMatching("/a")}}
	seen := map[string]int{}
	for g, group := range groups {
		for _, rules := range group {
			scope := scopesOf(rules)[0]
			if other, known := seen[scope]; known && other != g || scope != scopesOf(group[0])[0] {
				t.Errorf("group %d has the scope %s, which is group %d's", g, scope, other)
			}
			seen[scope] = g
		}
	}
}
