package gateway

import (
	"encoding/json"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// matchOverhead is what Envoy's route of a match costs besides its text, in bytes, with a session: 511 were measured,
// and 219 without one. Which rules have sessions is not known yet where this is asked.
const matchOverhead = 512

// hostOverhead is what each hostname costs besides its routes, be they shared: Envoy takes some of it, and limpet,
// which counts, the rest.
const hostOverhead = 256

// sizeOf is how many bytes of Envoy's routes a route comes to at one hostname: its matches, each with what its rule has
// for every request. Each backend may bring a session policy of its own.
func sizeOf(route *Route) (size int) {
	name := len(route.Namespace) + len(route.Name)
	for r, rule := range route.Value.Spec.Rules {
		if isDropped(route, r) {
			continue
		}
		each := name + matchOverhead*max(1, len(rule.BackendRefs)) + textSize(rule.Filters) + textSize(rule.BackendRefs)
		size += each * max(1, len(rule.Matches))
		for _, m := range rule.Matches {
			size += matchSize(m)
		}
	}
	return size
}

// textSize is how many bytes a list of a rule is as JSON.
func textSize[T any](list []T) int {
	if len(list) == 0 {
		return 0
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // the type has nothing in it that JSON does not
	}
	return len(text)
}

// matchSize is how many bytes of text a match has.
func matchSize(m gatewayv1.HTTPRouteMatch) (size int) {
	if m.Path != nil && m.Path.Value != nil {
		size += len(*m.Path.Value)
	}
	if m.Method != nil {
		size += len(*m.Method)
	}
	for _, h := range m.Headers {
		size += valueOverhead + len(h.Name) + len(h.Value)
	}
	for _, q := range m.QueryParams {
		size += valueOverhead + len(q.Name) + len(q.Value)
	}
	return size
}

// valueOverhead is what a condition on a header or a query parameter costs besides its text.
const valueOverhead = 32
