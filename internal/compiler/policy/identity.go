package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// httpRoute is the kind whose rules need no kind in the names of their policies.
const httpRoute = "HTTPRoute"

// Identity names a rule of a route for the outputs.
type Identity struct {
	kind  string // of the route
	route string // namespace/name
	index int
	name  string // the rule's own name, if it has one
	rules []gatewayv1.HTTPRouteRule
}

// RuleIdentity gives a rule's identity.
func RuleIdentity(route *gateway.Route, rule int) Identity {
	id := Identity{kind: route.Kind, route: route.Key(), index: rule, rules: route.Value.Spec.Rules}
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		id.name = string(*name)
	}
	return id
}

// RouteName is the name of the proxy's routes that the rule becomes, such as httproute/default/cart/rule/0.
func (id Identity) RouteName() string {
	return fmt.Sprintf("%s/%s/rule/%d", strings.ToLower(id.kind), id.route, id.index)
}

// PolicyName is the name of the rule's policy, such as default/cart/rule/checkout, in counters and logs: with the
// rule's name where it has one that does not look like an index, else with its index. That of a GRPCRoute has
// grpcroute/ in front, for an HTTPRoute may have the same name.
func (id Identity) PolicyName() string { return truncateName(id.policyName(), policyconfig.MaxName) }

func (id Identity) policyName() string {
	rule := id.name
	if isIndex(rule) {
		rule = fmt.Sprint(id.index)
	}
	name := id.route + "/rule/" + rule
	if id.kind != httpRoute {
		return strings.ToLower(id.kind) + "/" + name
	}
	return name
}

// Scope is what the rule's tokens are bound to, such as HTTPRoute/default/cart/rule/pay; for a rule without a name it
// is made from its matches, such as HTTPRoute/default/cart/matches/0b3c91d2a7e4f568. Neither changes when other rules
// are put before it, are taken away or change places. A name of digits has a colon in front: scopes of older compilers
// had a rule's index there, and their tokens may still be about.
func (id Identity) Scope() string {
	rule := "/rule/" + id.name
	switch {
	case id.name == "":
		rule = "/matches/" + digestMatches(id.rules, id.index)
	case isIndex(id.name):
		rule = "/rule/:" + id.name
	}
	return truncateName(id.kind+"/"+id.route+rule, policyconfig.MaxScope)
}

// isIndex reports whether a rule's name is digits only, or none.
func isIndex(name string) bool { return strings.Trim(name, "0123456789") == "" }

// RouteScope is what tokens are bound to that the rules of the route share, such as HTTPRoute/default/cart.
func (id Identity) RouteScope() string {
	return truncateName(id.kind+"/"+id.route, policyconfig.MaxScope)
}

// backendPart tells the backends of a rule apart, such as /backend/Service/shop/cart/8080.
func backendPart(b *backend.Identity) string {
	part := fmt.Sprintf("/backend/%s/%s/%d", b.Object.Kind, b.Object.Key(), b.Port)
	if b.Subset != "" {
		part += "/" + b.Subset
	}
	return part
}

// shortHash is a short text that differs from scope to scope and stays the same for each.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// truncateName gives names that are too long an end that tells them apart.
func truncateName(name string, most int) string {
	if len(name) <= most {
		return name
	}
	end := "-" + shortHash(name)
	return name[:most-len(end)] + end
}
