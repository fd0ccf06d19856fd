package istioapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Gateway is what limpet reads of that kind: the proxies that it configures.
type Gateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		// Selector are labels that the proxies' pods have, in any namespace.
		Selector map[gatewayv1.LabelKey]gatewayv1.LabelValue `json:"selector"`
	} `json:"spec"`
}

// Convert gives a Gateway of Gateway API in its place, without a class, whose proxies have the labels, with one
// listener for every host and namespace. Its port means nothing: Istio has the listeners.
func (g *Gateway) Convert() *gatewayv1.Gateway {
	all := gatewayv1.NamespacesFromAll
	return &gatewayv1.Gateway{TypeMeta: g.TypeMeta, ObjectMeta: g.ObjectMeta, Spec: gatewayv1.GatewaySpec{
		Infrastructure: &gatewayv1.GatewayInfrastructure{Labels: g.Spec.Selector},
		Listeners: []gatewayv1.Listener{{
			Name: "istio", Port: 1, Protocol: gatewayv1.HTTPProtocolType,
			AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}},
		}},
	}}
}
