package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestUnacknowledgedListeners: a listener that no Envoy has is no more Programmed than its Gateway; what was may stay so for the grace.
func TestUnacknowledgedListeners(t *testing.T) {
	const programmed = string(gatewayv1.ListenerConditionProgrammed)
	was := func(is bool) []gatewayv1.ListenerStatus {
		return []gatewayv1.ListenerStatus{{Name: "web", Conditions: []metav1.Condition{
			newCondition(programmed, is, gatewayv1.ListenerReasonProgrammed, ""),
		}}}
	}
	for name, c := range map[string]struct {
		unacknowledged map[string]Unacknowledged
		proxies        map[string]Proxies
		bound          int
		was            []gatewayv1.ListenerStatus
		want           string
	}{
		"an Envoy has it":         {nil, nil, 1, nil, "True Programmed "},
		"none has":                {map[string]Unacknowledged{"shop/edge": {Message: "none"}}, nil, 1, was(true), "False Pending none"},
		"none has, for a moment":  {map[string]Unacknowledged{"shop/edge": {Grace: true}}, nil, 1, was(true), "True Programmed "},
		"none has, and it is new": {map[string]Unacknowledged{"shop/edge": {"none", true}}, nil, 1, nil, "False Pending none"},
		"it is at fault besides":  {map[string]Unacknowledged{"shop/edge": {Message: "none"}}, nil, 0, nil, "False Invalid the Gateway has no address that can be bound"},
		"limpet runs its Envoys":  {map[string]Unacknowledged{"shop/edge": {Message: "none"}}, map[string]Proxies{"shop/edge": {}}, 1, nil, "True Programmed "},
	} {
		g := &gateway.Status{Gateway: &resource.Object[gatewayv1.Gateway]{Namespace: "shop", Name: "edge"}}
		b := &builder{Input: Input{Unacknowledged: c.unacknowledged, Proxies: c.proxies}}
		l := gateway.ListenerStatus{Name: "web", Bound: c.bound, Kinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}}}
		for _, got := range b.newListenerStatus(g, l, newListenerState(l, nil, nil).listConditions(), conditionWriter{}, c.was).Conditions {
			if is := string(got.Status) + " " + got.Reason + " " + got.Message; got.Type == programmed && is != c.want {
				t.Errorf("%s: it is %q, want %q", name, is, c.want)
			}
		}
	}
}
