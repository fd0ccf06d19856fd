package gateway

import (
	"maps"
	"net/netip"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Input is everything that a [Topology] is made from.
type Input struct {
	objects *resource.Objects // no kinds but those that a topology depends on
	bind    netip.Addr
	// controller is who serves the Gateways, and isolated says that it is a control plane that gives each a proxy of its
	// own.
	controller gatewayv1.GatewayController
	isolated   bool
	// own is limpet's controller, whose Gateways another control plane leaves out.
	own gatewayv1.GatewayController
	// assumeClass says that a class which is not in the input is the controller's.
	assumeClass bool
	apart       bool // limpet itself serves the Gateways, and each has proxies of its own
	// refused says why a Gateway does not listen somewhere.
	refused map[Claim]string
	// order says who goes first, and hosts are those that its routes had for themselves before.
	order *seniority.Order
	hosts SoleHosts
	// budget is how much is laid out. layout is the layout of all routes, where the objects are a part of the input; else
	// nil.
	budget Budget
	layout *Layout
}

// NewInput is the input where limpet serves the Gateways. Those without addresses listen on bind; those whose class is
// not in the input are left out.
func NewInput(objects *resource.Objects, bind netip.Addr) Input {
	return Input{
		bind:       bind,
		controller: objects.ControllerName(),
		budget:     Budget{DefaultBudget},
		objects: &resource.Objects{
			Classes: objects.Classes, Gateways: objects.Gateways, Routes: objects.Routes, Secrets: objects.Secrets,
			Grants: objects.Grants, HostRoutes: objects.HostRoutes, Namespaces: objects.Namespaces, Refused: objects.Refused,
			ListenerSets: objects.ListenerSets, ConfigMaps: objects.ConfigMaps,
		},
	}
}

// Apart is the input where each Gateway has proxies of its own, so that Gateways share no port.
func (in Input) Apart() Input {
	in.apart = true
	return in
}

// Within is the input with a budget of its own.
func (in Input) Within(budget Budget) Input {
	in.budget = budget
	return in
}

// LaidOut is a part of an input, with the layout of the whole.
func (in Input) LaidOut(layout *Layout) Input {
	in.layout = layout
	return in
}

// Resolved resolves conflicting claims and returns the input with the winners: the claims that lose are from
// [Input.ResolveClaims], of this input or of the whole of which it is a part.
func (in Input) Resolved(refused map[Claim]string, l Listening) Input {
	objects := *in.objects
	objects.Routes, objects.HostRoutes = l.sortRoutes(objects.Routes), l.sortHostRoutes(objects.HostRoutes)
	in.order, in.refused, in.hosts, in.objects = l.Order, refused, l.listHosts(objects.HostRoutes), &objects
	return in
}

// sortRoutes puts the senior routes first, where routes of two kinds may want one host, which the first of them has.
func (l Listening) sortRoutes(routes []*Route) []*Route {
	if !slices.ContainsFunc(routes, func(r *Route) bool { return r.Kind != routes[0].Kind }) {
		return routes
	}
	return slices.SortedStableFunc(
		slices.Values(routes),
		func(a, b *Route) int { return l.Order.Compare(a.Origin(), b.Origin()) },
	)
}

// sortHostRoutes puts the senior ones first.
func (l Listening) sortHostRoutes(routes []*Route) []*Route {
	return slices.SortedStableFunc(
		slices.Values(routes),
		func(a, b *Route) int { return l.Order.Compare(a.Origin(), b.Origin()) },
	)
}

// listHosts gives the hosts that some routes had for themselves before.
func (l Listening) listHosts(routes []*Route) SoleHosts {
	if len(l.SoleHosts) == 0 || len(routes) == 0 {
		return nil
	}
	there, hosts := map[object.Ref]bool{}, SoleHosts{}
	for _, r := range routes {
		there[r.Ref()] = true
	}
	for host, ref := range l.SoleHosts {
		if there[ref] {
			hosts[host] = ref
		}
	}
	return hosts
}

// AssumeClasses is the input in which classes that it lacks are limpet's, with a warning.
func (in Input) AssumeClasses(assume bool) Input {
	in.assumeClass = assume
	return in
}

// NewInputPerGateway is the input for a control plane that gives every Gateway a proxy of its own: Gateways share no
// port. Those of a class in the input that another controller serves are left out; a class that is not there is taken
// for the controller's own.
func NewInputPerGateway(objects *resource.Objects, controller gatewayv1.GatewayController) Input {
	return Input{
		controller:  controller,
		isolated:    true,
		own:         objects.ControllerName(),
		assumeClass: true,
		objects: &resource.Objects{
			Classes: objects.Classes, Gateways: objects.Gateways, Routes: objects.Routes, Refused: objects.Refused,
			Namespaces: objects.Namespaces,
		},
	}
}

// Key is that of the one topology that there is.
func (in Input) Key() memo.Whole { return memo.Whole{} }

// Equal reports whether both inputs give the same topology.
func (in Input) Equal(other Input) bool {
	return in.bind == other.bind && in.controller == other.controller && in.isolated == other.isolated &&
		in.own == other.own &&
		in.assumeClass == other.assumeClass && in.apart == other.apart && in.budget == other.budget &&
		in.layout.Equal(other.layout) &&
		maps.Equal(in.refused, other.refused) &&
		maps.Equal(in.hosts, other.hosts) &&
		in.objects.Equal(other.objects) &&
		in.order.RanksAs(other.order) &&
		other.order.RanksAs(in.order)
}
