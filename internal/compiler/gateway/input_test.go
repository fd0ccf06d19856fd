package gateway

import (
	"net/netip"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestInput changes one thing that a topology is made from at a time, and things that it is not made from.
func TestInput(t *testing.T) {
	bind, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	routes := &resource.Objects{Routes: []*Route{{}}}
	kinds := map[string]*resource.Objects{
		"classes":     {Classes: []*resource.Object[gatewayv1.GatewayClass]{{Value: &gatewayv1.GatewayClass{}}}},
		"gateways":    {Gateways: []*resource.Object[gatewayv1.Gateway]{{Value: &gatewayv1.Gateway{}}}},
		"routes":      routes,
		"secrets":     {Secrets: []*resource.Object[resource.Secret]{{}}},
		"grants":      {Grants: []*resource.Object[gatewayv1.ReferenceGrant]{{}}},
		"host routes": {HostRoutes: []*resource.Object[gatewayv1.HTTPRoute]{{}}},
	}
	for name, objects := range kinds {
		if NewInput(objects, bind).Equal(NewInput(&resource.Objects{}, bind)) || !NewInput(objects, bind).Equal(NewInput(objects, bind)) {
			t.Errorf("%s are not compared", name)
		}
	}
	services := *routes
	services.Hosts = []*resource.Object[resource.Host]{{}}
	if !NewInput(routes, bind).Equal(NewInput(&services, bind)) {
		t.Error("a kind that has no effect is compared")
	}
	refused := NewInput(routes, bind)
	refused.refused = map[Claim]string{{}: "taken"}
	if NewInput(routes, bind).Equal(refused) {
		t.Error("claims that do not hold are not compared")
	}
	if NewInput(routes, bind).Equal(NewInput(routes, other)) || NewInputPerGateway(routes, "a").Equal(NewInputPerGateway(routes, "b")) {
		t.Error("an option is not compared")
	}
}
