package status

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
)

// Proxies is how the proxies do that are run for a Gateway.
type Proxies struct {
	// Addresses are those of their Service.
	Addresses []gatewayv1.GatewayStatusAddress
	// Reason is why no client is served, empty if some are, and Message says more.
	Reason  gatewayv1.GatewayConditionReason
	Message string
	// LeftOut is what of its spec.infrastructure they have not got; empty for nothing.
	LeftOut string
	// Invalid is what is wrong with the Gateway's parametersRef; empty for nothing.
	Invalid string
}

// noteProxies puts in where the Gateway's proxies are reached, and whether they are: what their listeners are bound to
// is known to their Pods alone.
func (b *builder) noteProxies(
	g *gateway.Status,
	s *gatewayv1.GatewayStatus,
	conditions []metav1.Condition,
) []metav1.Condition {
	p, run := b.Proxies[g.Gateway.Key()]
	if !run {
		return conditions
	}
	s.Addresses = p.Addresses
	for i, c := range conditions {
		switch {
		case c.Type == string(gatewayv1.GatewayConditionAccepted) && c.Status == metav1.ConditionTrue && p.Invalid != "":
			conditions[i] = newCondition(
				gatewayv1.GatewayConditionAccepted,
				false,
				gatewayv1.GatewayReasonInvalidParameters,
				p.Invalid,
			)
		case c.Type == string(gatewayv1.GatewayConditionAccepted) && c.Status == metav1.ConditionTrue && p.LeftOut != "":
			conditions[i].Message = strings.TrimPrefix(c.Message+"; "+p.LeftOut, "; ")
		case c.Type == string(gatewayv1.GatewayConditionProgrammed) && c.Status == metav1.ConditionTrue && p.Reason != "":
			conditions[i] = newCondition(gatewayv1.GatewayConditionProgrammed, false, p.Reason, p.Message)
		}
	}
	return conditions
}
