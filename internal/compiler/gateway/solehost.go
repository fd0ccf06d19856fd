package gateway

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// reserveHosts keeps hosts for the routes that had them for themselves before, on the listeners where they had them.
func (b *builder) reserveHosts(routes []*Route) {
	for _, route := range routes {
		b.visitListeners(route, func(_ string, l *listener) {
			if host := newSoleHost(l, route); b.hosts[host] == route.Ref() {
				b.soleHosts[host] = route
			}
		})
	}
}

// visitListeners visits the listeners that suit a route with a Host and allow its namespace, with their Gateway's key.
func (b *builder) visitListeners(route *Route, visit func(key string, l *listener)) {
	for _, key := range slices.Sorted(maps.Keys(b.listeners)) {
		for _, l := range b.listeners[key] {
			if l.suits(route) && b.admits(l, route) {
				visit(key, l)
			}
		}
	}
}

// suits reports whether a listener does with clients' TLS what a route with a Host wants: it passes through for
// connections, or ends at the proxy with the very certificate. Without a word of TLS any listener for HTTP will do, and
// clients that come to one without TLS are sent to https, as far as rules do not permit them.
func (l *listener) suits(route *Route) bool {
	tls, streams := route.Host.TLS, resource.IsStreamRoute(route.Value.Kind)
	switch {
	case tls == nil:
		return l.spec.Protocol == gatewayv1.HTTPProtocolType || l.spec.Protocol == gatewayv1.HTTPSProtocolType
	case !streams && l.spec.Protocol == gatewayv1.HTTPProtocolType:
		return true // to send clients to https
	case !streams:
		return l.spec.Protocol == gatewayv1.HTTPSProtocolType && l.hasSecret(tls.Secret)
	case tls.Passthrough:
		return l.PassesThrough()
	default:
		return l.spec.Protocol == gatewayv1.TLSProtocolType && !l.PassesThrough() && l.hasSecret(tls.Secret)
	}
}

// serves reports whether a listener that suits a route does more with its requests than to send them to https.
func (l *listener) serves(route *Route) bool {
	if l.spec.Protocol != gatewayv1.HTTPProtocolType {
		return true
	}
	for rule := range route.Value.Spec.Rules {
		if !route.ExtraOf(rule).OnlyTLS {
			return true
		}
	}
	return false
}

// hasSecret reports whether a listener's certificate is that of a Secret.
func (l *listener) hasSecret(secret types.NamespacedName) bool {
	return l.spec.TLS != nil &&
		slices.ContainsFunc(l.spec.TLS.CertificateRefs, func(ref gatewayv1.SecretObjectReference) bool {
			home := l.home().Namespace
			if ref.Namespace != nil {
				home = string(*ref.Namespace)
			}
			return home == secret.Namespace && string(ref.Name) == secret.Name
		})
}

func newSoleHost(l *listener, route *Route) SoleHost {
	return SoleHost{l.gateway.Key(), string(l.spec.Name), route.Host.Name}
}

// attachToHost joins a route with a Host, which names no parents, to every listener that takes its host and namespace.
// Routes that name parents come first, whatever their age; of two for one host the older holds. That is so on each
// listener: who may not attach to one takes no host there.
func (b *builder) attachToHost(route *Route) {
	path, name := field.NewPath("spec", "hostnames"), route.Host.Name
	matched := false
	var owner *Route
	var elsewhere string // a listener on which the host is the owner's
	b.visitListeners(route, func(key string, l *listener) {
		host := newSoleHost(l, route)
		if other := b.soleHosts[host]; other != nil && other != route {
			owner, elsewhere = other, fmt.Sprintf("listener %s of Gateway %s", l.spec.Name, key)
			return
		}
		joined, rival := l.join(route)
		if delete(b.soleHosts, host); joined {
			b.soleHosts[host], matched = route, matched || l.serves(route)
		}
		if rival != nil {
			refused := newHostTakenError(route, rival, key, l)
			refused.BadValue = name
			refused.Detail += ": it does not attach to that listener"
			b.rep.Warn(report.HostTaken, route, refused)
		}
	})
	switch {
	case owner != nil && matched:
		b.rep.Warn(report.HostTaken, route, field.Invalid(path, name,
			fmt.Sprintf("%s, which goes first, has this host on %s: it does not attach to that listener", owner, elsewhere)))
	case owner != nil:
		b.rep.WarnFor(report.HostTaken, route, report.ReasonConflicted, field.Invalid(path, name,
			fmt.Sprintf("%s, which goes first, has this host: this one serves nothing", owner)))
	case !matched:
		b.rep.WarnFor(report.HostTaken, route, string(gatewayv1.RouteReasonNoMatchingListenerHostname),
			field.Invalid(path, name, "no listener of a Gateway in the input serves this host for its namespace"))
	}
}
