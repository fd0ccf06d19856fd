package gateway

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Input is everything that a [Topology] is made from.
type Input struct {
	objects    *resource.Objects // no kinds but those that a topology depends on
	bind       netip.Addr
	refused    map[Claim]string               // why a Gateway does not listen somewhere
	controller gatewayv1.GatewayController // empty where limpet itself serves the Gateways
}

// NewInput is the input where limpet serves the Gateways.
func NewInput(objects *resource.Objects, l Listening) Input {
	return Input{bind: l.Bind, refused: settleClaims(objects, l), objects: &resource.Objects{
		Classes: objects.Classes, Gateways: objects.Gateways, Routes: l.sortRoutes(objects.Routes), Secrets: objects.Secrets,
		Grants: objects.Grants, Proxies: l.sortProxies(objects.Proxies),
	}}
}

// sortRoutes puts the senior routes first, where routes of two kinds may want one host, which the first of them has.
func (l Listening) sortRoutes(routes []*Route) []*Route {
	if !slices.ContainsFunc(routes, func(r *Route) bool { return r.Kind != routes[0].Kind }) {
		return routes
	}
	return slices.SortedStableFunc(slices.Values(routes), func(a, b *Route) int { return l.Order.Compare(a.Origin(), b.Origin()) })
}

// sortProxies puts those first that have their host already, then the senior ones.
func (l Listening) sortProxies(proxies []*resource.Object[resource.HTTPProxy]) []*resource.Object[resource.HTTPProxy] {
	others := func(p *resource.Object[resource.HTTPProxy]) int {
		if l.ProxyHosts[p.Value.Spec.VirtualHost.FQDN] == p.Origin().Ref {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(proxies), func(a, b *resource.Object[resource.HTTPProxy]) int {
		return cmp.Or(cmp.Compare(others(a), others(b)), l.Order.Compare(a.Origin(), b.Origin()))
	})
}

// NewInputPerGateway is the input for a control plane that gives every Gateway a proxy of its own: Gateways share no
// port. Those of a class in the input that another controller serves are left out; a class that is not there is taken
// for the controller's own.
func NewInputPerGateway(objects *resource.Objects, controller gatewayv1.GatewayController) Input {
	return Input{controller: controller, objects: &resource.Objects{
		Classes: objects.Classes, Gateways: objects.Gateways, Routes: objects.Routes,
		IstioGateways: objects.IstioGateways, VirtualServices: objects.VirtualServices,
	}}
}

// Key is that of the one topology that there is.
func (in Input) Key() memo.Whole { return memo.Whole{} }

// Equal reports whether both inputs give the same topology.
func (in Input) Equal(other Input) bool {
	return in.bind == other.bind && in.controller == other.controller && maps.Equal(in.refused, other.refused) &&
		in.objects.Equal(other.objects)
}
