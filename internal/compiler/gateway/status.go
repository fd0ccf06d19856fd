package gateway

import (
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// AttachmentStatus is what became of Gateways and of the references to them, for those who write status.
type AttachmentStatus struct {
	// Gateways are those whose class is in the input, in order.
	Gateways []*Status
	// Parents says for each route what became of its parentRefs, in their order.
	Parents map[object.Ref][]ParentStatus
}

// Status is what became of one Gateway.
type Status struct {
	Gateway *resource.Object[gatewayv1.Gateway]
	// Addresses are those that it listens on; other addresses of its spec can't be bound.
	Addresses []netip.Addr
	// Refused is why it is not accepted, whatever its listeners; empty if it is.
	Refused gatewayv1.GatewayConditionReason
	// AllowsInvalidClients says that a listener of its may take clients whose certificate is not valid.
	AllowsInvalidClients bool
	// listeners are in the order of the spec.
	listeners []*listener
	// Sets are the ListenerSets for the Gateway, the older ones first.
	Sets []*SetStatus
}

// SetStatus is what became of one ListenerSet.
type SetStatus struct {
	Set *resource.ListenerSet
	// Refused says why the Gateway takes no listener from it; empty if it may take some.
	Refused   gatewayv1.ListenerSetConditionReason
	listeners []*listener
}

// Listeners gives what became of the set's listeners, in the order of its spec.
func (s *SetStatus) Listeners() []ListenerStatus { return listStatuses(s.listeners) }

// ListenerStatus is what became of a listener.
type ListenerStatus struct {
	Key  ListenerKey
	Name gatewayv1.SectionName
	// Bound is on how many of the Gateway's addresses it listens. Elsewhere an older Gateway has its port and hostname.
	Bound int
	// Refused is why it is not accepted, wherever it would listen; empty if it is.
	Refused gatewayv1.ListenerConditionReason
	// Kinds are the kinds of routes that it takes and limpet knows.
	Kinds []gatewayv1.RouteGroupKind
	// TLS says that it ends TLS, and Certificates how many certificates it has. Without any it serves nothing.
	TLS          bool
	Certificates int
	// ValidatedBy is the place of what its Gateway says of clients' certificates; in no section for nothing.
	ValidatedBy report.Place
	// Overlaps names the listeners with TLS of its port, as listener LISTENER of NAMESPACE/GATEWAY, whose hosts are
	// in part its own.
	Overlaps []string
	// Routes are those that attach to it, in no order.
	Routes []object.Ref
}

// ParentStatus is what became of a parentRef.
type ParentStatus struct {
	Ref gatewayv1.ParentReference
	// Gateway is the Gateway that the parentRef leads to, directly or by a ListenerSet.
	Gateway object.Ref
	// Foreign says that it names a Gateway whose class is not in the input: another controller's.
	Foreign bool
	// Refused says why the route does not attach, under Reason; nil if it does.
	Refused *field.Error
	Reason  gatewayv1.RouteConditionReason
}

func (b *builder) recordParent(route *Route, ref gatewayv1.ParentReference, refused *field.Error) {
	f := b.status
	all, known := b.listeners[parentKey(route, ref)]
	p := ParentStatus{
		Ref: ref,
		Foreign: known && len(all) == 0 && isGateway(route, ref) || !b.isParent(route, ref) ||
			b.foreignSets[parentKey(route, ref)],
		Refused: refused,
		Reason:  gatewayv1.RouteReasonAccepted, Gateway: ParentRef(route, ref),
	}
	if len(all) > 0 {
		p.Gateway = all[0].gateway.Ref()
	}
	if refused != nil {
		p.Reason = attachReason(refused)
	}
	f.Parents[route.Ref()] = append(f.Parents[route.Ref()], p)
}

func (f *AttachmentStatus) addListener(l *listener) {
	g := f.lastGateway()
	g.listeners = append(g.listeners, l)
}

// lastGateway is the one that listeners are added to.
func (f *AttachmentStatus) lastGateway() *Status { return f.Gateways[len(f.Gateways)-1] }

// ListenerKey names a listener by its Gateway, and by the object that it is written in, which may be a ListenerSet.
type ListenerKey struct {
	Gateway, Home object.Ref
	Index         int
}

func (l *listener) key() ListenerKey { return ListenerKey{l.gateway.Ref(), l.home(), l.index} }

// VisitAttached visits the listeners that routes attach to, with these, each once.
func (f *AttachmentStatus) VisitAttached(visit func(ListenerKey, []object.Ref)) {
	visitAll := func(listeners []*listener) {
		for _, l := range listeners {
			if len(l.attached) > 0 {
				visit(l.key(), l.listRoutes())
			}
		}
	}
	for _, g := range f.Gateways {
		visitAll(g.listeners)
		for _, set := range g.Sets {
			visitAll(set.listeners)
		}
	}
}

// Listeners gives what became of the Gateway's listeners, in the order of its spec.
func (s *Status) Listeners() []ListenerStatus { return listStatuses(s.listeners) }

func listStatuses(listeners []*listener) []ListenerStatus {
	all := make([]ListenerStatus, len(listeners))
	for i, l := range listeners {
		all[i] = ListenerStatus{
			Key: l.key(), Name: l.spec.Name, Bound: len(l.places), Kinds: l.supportedKinds(), Routes: l.listRoutes(),
			TLS: l.TLS() && !l.PassesThrough(), Certificates: len(l.certificates), Overlaps: l.overlaps, Refused: l.refused,
			ValidatedBy: l.validatedBy,
		}
	}
	return all
}

// listRoutes lists the routes that attach to a listener, each once whatever its hostnames.
func (l *listener) listRoutes() []object.Ref {
	attached := map[object.Ref]bool{}
	for _, routes := range l.attached {
		for _, r := range routes {
			attached[r.Ref()] = true
		}
	}
	return slices.Collect(maps.Keys(attached))
}

// supportedKinds gives the kinds of routes that a listener takes and limpet knows; none for a protocol that it does
// not.
func (l *listener) supportedKinds() []gatewayv1.RouteGroupKind {
	if l.refused == gatewayv1.ListenerReasonUnsupportedProtocol {
		return nil
	}
	var known []gatewayv1.RouteGroupKind
	group := gatewayv1.Group(gatewayv1.GroupName)
	named := l.spec.AllowedRoutes != nil && len(l.spec.AllowedRoutes.Kinds) > 0
	for _, kind := range l.routeKinds() {
		listed := func(k gatewayv1.RouteGroupKind) bool { return isOfKind(k, kind) }
		if !named || slices.ContainsFunc(l.spec.AllowedRoutes.Kinds, listed) {
			known = append(known, gatewayv1.RouteGroupKind{Group: &group, Kind: kind})
		}
	}
	return known
}
