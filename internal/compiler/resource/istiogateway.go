package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var istioGatewayKind = newKind(definition[IstioGateway]{
	group: IstioGroup, kind: "Gateway", as: object.KindIstioGateway, versions: istioVersions, loose: true,
	convert: func(g *Object[IstioGateway], _ *Objects) { g.Value.Gateway = convertIstioGateway(g) },
	list:    func(o *Objects) *[]*Object[IstioGateway] { return &o.IstioGateways },
})

// IstioGateway is what limpet reads of networking.istio.io Gateway: the proxies that it configures.
type IstioGateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		// Selector are labels that the proxies' pods have, in any namespace.
		Selector map[string]string `json:"selector"`
	} `json:"spec"`

	// Gateway is one of Gateway API in its place, with one listener for every host and namespace.
	Gateway *Object[gatewayv1.Gateway] `json:"-"`
}

// convertIstioGateway gives an Istio Gateway as one of Gateway API. Its port means nothing: Istio has the listeners.
func convertIstioGateway(o *Object[IstioGateway]) *Object[gatewayv1.Gateway] {
	all := gatewayv1.NamespacesFromAll
	gateway := &gatewayv1.Gateway{TypeMeta: o.Value.TypeMeta, ObjectMeta: o.Value.ObjectMeta}
	gateway.Spec.Listeners = []gatewayv1.Listener{{
		Name: "istio", Port: 1, Protocol: gatewayv1.HTTPProtocolType,
		AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}},
	}}
	return &Object[gatewayv1.Gateway]{
		Document: o.Document, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Created: o.Created, Labels: o.Labels, Value: gateway,
	}
}
