package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// registry is every kind that documents may have, besides a control plane's own (Options.PlatformKinds). Its order is
// that in which people are shown objects.
var registry = []*Kind{
	gatewayClassKind, gatewayKind, listenerSetKind, httpRouteKind, grpcRouteKind, tlsRouteKind, tcpRouteKind, udpRouteKind,
	virtualServiceKind, serviceKind, xbackendKind,
	sessionPolicyKind, trafficPolicyKind, loadBalancerPolicyKind, httpProxyKind, extensionServiceKind,
	proxyConfigKind, backendTLSPolicyKind, endpointSliceKind, secretKind, configMapKind, referenceGrantKind, namespaceKind,
	podKind,
	istioGatewayKind, serviceEntryKind, destinationRuleKind,
}

// kindsByName has the kinds as documents write them.
var kindsByName = func() map[schema.GroupKind]*Kind {
	all := make(map[schema.GroupKind]*Kind, len(registry))
	for _, k := range registry {
		all[k.GroupKind] = k
	}
	return all
}()

// gvkOf is a document's kind.
func gvkOf(d *read.Document) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(d.StringAt("apiVersion"), d.StringAt("kind"))
}

// findSupported gives a kind in one of its versions, nil if there is none.
func findSupported(gvk schema.GroupVersionKind) *Kind {
	k := kindsByName[gvk.GroupKind()]
	if k == nil || !slices.Contains(k.versions, gvk.Version) {
		return nil
	}
	return k
}

// Visit visits the objects of all kinds that are wanted, kind by kind.
func (o *Objects) Visit(wanted func(Traits) bool, visit func(Entry)) {
	for _, k := range registry {
		if k.list != nil && wanted(k.Traits) {
			k.list.visit(o, visit)
		}
	}
}

// count is how many objects there are.
func (o *Objects) count() int {
	count := 0
	for _, l := range lists {
		count += l.count(o)
	}
	return count
}

// Equal reports whether the objects are the same ones, in the same order.
func (o *Objects) Equal(other *Objects) bool {
	return slices.Equal(o.Refused, other.Refused) && slices.Equal(o.Written, other.Written) &&
		!slices.ContainsFunc(lists, func(l objectList) bool { return !l.isEqual(o, other) })
}

// Sort puts every kind in the order in which Gateway API settles conflicts.
func (o *Objects) Sort() {
	for _, l := range lists {
		l.sortIn(o)
	}
	slices.SortFunc(o.Refused, compareRefs)
}
