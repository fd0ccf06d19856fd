package gateway

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

const invalidKinds = string(gatewayv1.ListenerReasonInvalidRouteKinds)

// checkKinds warns of kinds of routes that can't attach because limpet does not know them.
func (b *builder) checkKinds(l *listener) {
	if l.spec.AllowedRoutes == nil {
		return
	}
	for i, k := range l.spec.AllowedRoutes.Kinds {
		path := l.path.Child("allowedRoutes", "kinds").Index(i)
		kinds := l.routeKinds()
		isOfOne := func(kind gatewayv1.Kind) bool { return isOfKind(k, kind) }
		switch {
		case slices.ContainsFunc(kinds, isOfOne):
		case slices.Contains(kinds, k.Kind):
			b.rep.WarnFor(report.InvalidKinds,
				l.Subject(),
				invalidKinds,
				field.NotSupported(path.Child("group"), *k.Group, []gatewayv1.Group{gatewayv1.GroupName}),
			)
		default:
			b.rep.WarnFor(report.InvalidKinds, l.Subject(), invalidKinds, field.NotSupported(path.Child("kind"), k.Kind, kinds))
		}
	}
}

// routeKinds are the kinds of routes that a listener takes by its protocol. A control plane decides itself what its
// listeners for connections take.
func (l *listener) routeKinds() []gatewayv1.Kind {
	switch l.spec.Protocol {
	case gatewayv1.TLSProtocolType:
		return []gatewayv1.Kind{object.KindTLSRoute}
	case gatewayv1.TCPProtocolType:
		return []gatewayv1.Kind{object.KindTCPRoute}
	case gatewayv1.UDPProtocolType:
		return []gatewayv1.Kind{object.KindUDPRoute}
	default:
		return []gatewayv1.Kind{object.KindHTTPRoute, object.KindGRPCRoute}
	}
}

// takes reports whether a listener's protocol suits a route that names its parents.
func (l *listener) takes(route *Route) bool {
	switch l.spec.Protocol {
	case gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType:
		return !resource.IsStreamRoute(route.Kind)
	case gatewayv1.TLSProtocolType, gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
		return slices.Contains(l.routeKinds(), gatewayv1.Kind(route.Kind))
	default:
		return false
	}
}

func isOfKind(k gatewayv1.RouteGroupKind, kind gatewayv1.Kind) bool {
	return k.Kind == kind && (k.Group == nil || *k.Group == gatewayv1.GroupName)
}

// allows reports whether a listener admits routes of a route's kind and namespace.
func (b *builder) allows(l *listener, route *Route) bool {
	return l.takes(route) && b.admits(l, route)
}

// admits is allows without the check of the listener's protocol.
func (b *builder) admits(l *listener, route *Route) bool {
	allowed := l.spec.AllowedRoutes
	if allowed != nil && len(allowed.Kinds) > 0 && !slices.ContainsFunc(allowed.Kinds,
		func(k gatewayv1.RouteGroupKind) bool { return isOfKind(k, gatewayv1.Kind(route.Kind)) }) {
		return false
	}
	return b.admitsFrom(l, route.Namespace)
}

// admitsFrom reports whether a listener admits routes of a namespace, if they are of its kinds.
func (b *builder) admitsFrom(l *listener, namespace string) bool {
	from, own := gatewayv1.NamespacesFromSame, l.home().Namespace
	allowed := l.spec.AllowedRoutes
	if allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil {
		from = *allowed.Namespaces.From
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSelector:
		return b.selects(allowed.Namespaces.Selector, namespace)
	default:
		return from == gatewayv1.NamespacesFromSame && namespace == own
	}
}

// explainShut says that none of some listeners of a parent admits a route.
func (b *builder) explainShut(listeners []*listener, route *Route, parent string) string {
	why := fmt.Sprintf("no listener of %s that it names allows %ss from namespace %s", parent, route.Kind, route.Namespace)
	if slices.ContainsFunc(listeners, func(l *listener) bool { return b.admitsFrom(l, route.Namespace) }) {
		return why // it is the kind
	}
	return why + " (allowedRoutes.namespaces of the listener says from where)"
}

// selects reports whether a selector selects a namespace. A namespace that is not in the input has only its name as a
// label. Where a control plane knows its other labels, selects reports true and the control plane decides.
func (b *builder) selects(selector *metav1.LabelSelector, namespace string) bool {
	set, known := b.namespaces[namespace]
	if !known && b.isolated {
		return true
	}
	if !known {
		set = labels.Set{corev1.LabelMetadataName: namespace}
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(set)
}
