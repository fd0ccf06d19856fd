package gateway

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// reserveHosts keeps hosts for the HTTPProxies that had them before, on the listeners where they had them.
func (b *builder) reserveHosts(proxies []*resource.Object[resource.HTTPProxy]) {
	for _, proxy := range proxies {
		route := proxy.Value.Route
		b.visitListeners(proxy, func(_ string, l *listener) {
			if host := newProxyHost(l, proxy); b.hosts[host] == proxy.Origin().Ref {
				b.proxies[host] = route
			}
		})
	}
}

// visitListeners visits the listeners that suit an HTTPProxy and allow its namespace, with their Gateway's key.
func (b *builder) visitListeners(proxy *resource.Object[resource.HTTPProxy], visit func(key string, l *listener)) {
	for _, key := range slices.Sorted(maps.Keys(b.listeners)) {
		for _, l := range b.listeners[key] {
			if l.suits(proxy) && b.admits(l, proxy.Value.Route) {
				visit(key, l)
			}
		}
	}
}

// suits reports whether a listener does with clients' TLS what an HTTPProxy wants: it passes through for a tcpproxy, or ends at the
// proxy with the very certificate. Without a word of TLS any listener for HTTP will do, and clients that come to one without TLS are
// sent to https, as far as routes do not permit them.
func (l *listener) suits(proxy *resource.Object[resource.HTTPProxy]) bool {
	tls := proxy.Value.Spec.VirtualHost.TLS
	switch {
	case tls == nil:
		return l.spec.Protocol == gatewayv1.HTTPProtocolType || l.spec.Protocol == gatewayv1.HTTPSProtocolType
	case proxy.Value.Spec.TCPProxy == nil && l.spec.Protocol == gatewayv1.HTTPProtocolType:
		return true // to send clients to https
	case proxy.Value.Spec.TCPProxy == nil:
		return l.spec.Protocol == gatewayv1.HTTPSProtocolType && l.hasSecret(tls.Secret(proxy.Namespace))
	case tls.Passthrough:
		return l.PassesThrough()
	default:
		return l.spec.Protocol == gatewayv1.TLSProtocolType && !l.PassesThrough() && l.hasSecret(tls.Secret(proxy.Namespace))
	}
}

// serves reports whether a listener that suits an HTTPProxy does more with its requests than to send them to https.
func (l *listener) serves(proxy *resource.Object[resource.HTTPProxy]) bool {
	if l.spec.Protocol != gatewayv1.HTTPProtocolType {
		return true
	}
	for rule := range proxy.Value.Spec.Routes {
		if !proxy.Value.SendsToHTTPS(rule) {
			return true
		}
	}
	return false
}

// hasSecret reports whether a listener's certificate is that of a Secret.
func (l *listener) hasSecret(namespace, name string) bool {
	return l.spec.TLS != nil && slices.ContainsFunc(l.spec.TLS.CertificateRefs, func(ref gatewayv1.SecretObjectReference) bool {
		home := l.home().Namespace
		if ref.Namespace != nil {
			home = string(*ref.Namespace)
		}
		return home == namespace && string(ref.Name) == name
	})
}

func newProxyHost(l *listener, proxy *resource.Object[resource.HTTPProxy]) ProxyHost {
	return ProxyHost{l.gateway.Key(), string(l.spec.Name), proxy.Value.Spec.VirtualHost.FQDN}
}

// attachProxy joins an HTTPProxy, which names no parents, to every listener that takes its host and namespace. Routes
// of Gateway API come first, whatever their age; of two HTTPProxies for one host the older holds, for Contour has one
// owner for each host. That is so on each listener: who may not attach to one takes no host there.
func (b *builder) attachProxy(proxy *resource.Object[resource.HTTPProxy]) {
	route, path, fqdn := proxy.Value.Route, field.NewPath("spec", "hostnames"), proxy.Value.Spec.VirtualHost.FQDN
	matched := false
	var owner *Route
	var elsewhere string // a listener on which the host is the owner's
	b.visitListeners(proxy, func(key string, l *listener) {
		host := newProxyHost(l, proxy)
		if other := b.proxies[host]; other != nil && other != route {
			owner, elsewhere = other, fmt.Sprintf("listener %s of Gateway %s", l.spec.Name, key)
			return
		}
		joined, rival := l.join(route)
		if delete(b.proxies, host); joined {
			b.proxies[host], matched = route, matched || l.serves(proxy)
		}
		if rival != nil {
			refused := newHostTakenError(route, rival, key, l)
			refused.BadValue = fqdn
			refused.Detail += ": it does not attach to that listener"
			b.rep.Warn(route, refused)
		}
	})
	switch {
	case owner != nil && matched:
		b.rep.Warn(route, field.Invalid(path, fqdn,
			fmt.Sprintf("%s, which goes first, has this host on %s: it does not attach to that listener", owner, elsewhere)))
	case owner != nil:
		b.rep.WarnFor(route, report.ReasonConflicted, field.Invalid(path, fqdn,
			fmt.Sprintf("%s, which goes first, has this host: this one serves nothing", owner)))
	case !matched:
		b.rep.WarnFor(route, string(gatewayv1.RouteReasonNoMatchingListenerHostname),
			field.Invalid(path, fqdn, "no listener of a Gateway in the input serves this host for its namespace"))
	}
}
