package policy

import (
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestScopesAreUnique tries rules that look alike.
func TestScopesAreUnique(t *testing.T) {
	long := strings.Repeat("n", 253)
	seen := map[string]Identity{}
	for _, id := range []Identity{
		{kind: httpRoute, route: "default/cart", index: 0},
		{kind: httpRoute, route: "default/cart", index: 1},
		{kind: httpRoute, route: "default/cart", index: 2, name: "0"},
		{kind: httpRoute, route: "default/cart", index: 3, name: "1"},
		{kind: httpRoute, route: "default/cart", index: 4, name: "checkout"},
		{kind: httpRoute, route: "default/other", index: 4, name: "checkout"},
		{kind: httpRoute, route: "shop/cart", index: 0},
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
	id := Identity{kind: httpRoute, route: "default/cart", index: 2}
	for got, want := range map[string]string{
		id.RouteName():  "httproute/default/cart/rule/2",
		id.PolicyName(): "default/cart/rule/2",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "pay"}.PolicyName():   "default/cart/rule/pay",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "7"}.PolicyName():     "default/cart/rule/2",
		Identity{kind: "GRPCRoute", route: "default/cart", index: 2, name: "pay"}.PolicyName(): "grpcroute/default/cart/rule/pay",
		id.Scope():            "HTTPRoute/default/cart/rule/2",
		shortHash(id.Scope()): "daa8241455d8",
		Identity{kind: httpRoute, route: "default/cart", index: 2, name: "pay"}.Scope(): "HTTPRoute/default/cart/rule/pay",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
