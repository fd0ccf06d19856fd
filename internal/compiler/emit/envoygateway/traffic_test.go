package envoygateway

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// A user's BackendTrafficPolicy that has Envoy go to Services takes the sessions of what it holds for away, and is reported.
func TestRoutingByService(t *testing.T) {
	for targets, reported := range map[string]bool{
		`targetRefs: [{kind: HTTPRoute, name: r}]`:                                true,
		`targetRefs: [{kind: HTTPRoute, name: r, sectionName: one}]`:              true,
		`targetRefs: [{kind: HTTPRoute, name: r, sectionName: other}]`:            false,
		`targetRefs: [{kind: HTTPRoute, name: other}, {kind: TCPRoute, name: r}]`: false,
		`targetRef: {kind: Gateway, name: web}`:                                   true,
		`targetRefs: [{kind: Gateway, name: other}]`:                              false,
		`targetSelectors: [{kind: HTTPRoute}]`:                                    true,
		`targetSelectors: [{kind: HTTPRoute, matchLabels: {a: b}}]`:               false,
		`targetSelectors: [{kind: Gateway, matchLabels: {a: b}}]`:                 true,
	} {
		for routing, asks := range map[string]bool{"Service": true, "Endpoint": false} {
			plan, a := newPlan(t, object.KindHTTPRoute, oneBackend)
			a.Name = "one"
			traffic := newObject(t, kindTraffic, "routing", "{routingType: "+routing+", "+targets+"}")
			plan.Objects[kindTraffic] = []*ir.Object{&traffic}
			if got := len(emit(t, plan).problems) == 1; got != (reported && asks) {
				t.Errorf("%s with %s: reported: %t", routing, targets, got)
			}
		}
	}
}
