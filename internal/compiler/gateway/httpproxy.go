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

// attachProxy joins an HTTPProxy, which names no parents, to every listener that takes its host and namespace. Routes
// of Gateway API come first, whatever their age; of two HTTPProxies for one host the older holds, for Contour has one
// owner for each host.
func (b *builder) attachProxy(proxy *resource.Object[resource.HTTPProxy]) {
	route, path := proxy.Value.Route, field.NewPath("spec", "hostnames")
	fqdn := proxy.Value.Spec.VirtualHost.FQDN
	if owner := b.proxies[fqdn]; owner != nil {
		b.rep.WarnFor(route, report.ReasonConflicted, field.Invalid(path, fqdn,
			fmt.Sprintf("%s, which goes first, has this host: this one serves nothing", owner)))
		return
	}
	b.proxies[fqdn] = route
	matched := false
	for _, key := range slices.Sorted(maps.Keys(b.listeners)) {
		for _, l := range b.listeners[key] {
			if !b.allows(l, route) {
				continue
			}
			joined, rival := l.join(route)
			matched = matched || joined
			if rival != nil {
				refused := newHostTakenError(route, rival, key, l)
				refused.BadValue = fqdn
				refused.Detail += ": it does not attach to that listener"
				b.rep.Warn(route, refused)
			}
		}
	}
	if !matched {
		b.rep.WarnFor(
			route,
			string(gatewayv1.RouteReasonNoMatchingListenerHostname),
			field.Invalid(path, fqdn, "no listener of a Gateway in the input serves this host for its namespace"),
		)
	}
}
