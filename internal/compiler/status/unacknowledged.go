package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// Unacknowledged is a Gateway whose listeners, as they are now, no connected Envoy has acknowledged.
type Unacknowledged struct {
	// Message says since when, in a sentence.
	Message string
	// Grace says that this has only begun: what the Gateway's status says of Programmed goes on.
	Grace bool
}

// noteUnacknowledged sets Programmed of a Gateway, its listeners and those of its ListenerSets to False until an Envoy
// has acknowledged them. "Programmed" is what is sent to the data plane and is to be ready soon (Gateway API,
// GatewayConditionProgrammed): without an Envoy it is sent nowhere. The condition and its reason have the same names in
// all three.
func (b *builder) noteUnacknowledged(g *gateway.Status, was, conditions []metav1.Condition) []metav1.Condition {
	u, is := b.Unacknowledged[g.Gateway.Key()]
	_, managed := b.Proxies[g.Gateway.Key()] // which say more of themselves
	if !is || managed || u.Grace && meta.IsStatusConditionTrue(was, string(gatewayv1.GatewayConditionProgrammed)) {
		return conditions
	}
	at := slices.IndexFunc(
		conditions,
		func(c metav1.Condition) bool { return c.Type == string(gatewayv1.GatewayConditionProgrammed) },
	)
	if at >= 0 && conditions[at].Status == metav1.ConditionTrue {
		conditions[at] = newCondition(gatewayv1.GatewayConditionProgrammed, false, gatewayv1.GatewayReasonPending, u.Message)
	}
	return conditions
}
