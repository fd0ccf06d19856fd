package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
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

// findSupported gives a kind in one of its versions, nil if there is none.
func findSupported(gvk schema.GroupVersionKind) *Kind {
	i := slices.IndexFunc(registry, func(k *Kind) bool { return k.GroupKind == gvk.GroupKind() })
	if i < 0 || !slices.Contains(registry[i].versions, gvk.Version) {
		return nil
	}
	return registry[i]
}

// lists are those of all kinds.
var lists = collectLists()

func collectLists() []objectList {
	var all []objectList
	for _, k := range append(slices.Clone(registry), platformKind) {
		if k.list != nil {
			all = append(all, k.list)
		}
	}
	return all
}

// Visit visits the objects of all kinds that are wanted, kind by kind.
func (o *Objects) Visit(wanted func(Traits) bool, visit func(Entry)) {
	for _, k := range registry {
		if k.list != nil && wanted(k.Traits) {
			k.list.visit(o, visit)
		}
	}
}

// addAll takes in the objects of another part of the input, those that limpet wrote, and the names of those that are
// refused.
func (o *Objects) addAll(more *Objects) {
	o.Refused = append(o.Refused, more.Refused...)
	o.Written = append(o.Written, more.Written...)
	for _, l := range lists {
		l.addAll(o, more)
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

// compare gives the objects of one part of the input that another does not have, and the reverse.
func compare(before, after *Objects) (gone, came *Objects) {
	gone, came = &Objects{}, &Objects{}
	for _, l := range lists {
		l.compare(before, after, gone, came)
	}
	gone.Refused, came.Refused = leaveOut(before.Refused, after.Refused), leaveOut(after.Refused, before.Refused)
	gone.Written, came.Written = leaveOut(before.Written, after.Written), leaveOut(after.Written, before.Written)
	return gone, came
}

func leaveOut[T comparable](some, others []T) []T {
	return slices.DeleteFunc(slices.Clone(some), func(one T) bool { return slices.Contains(others, one) })
}

// Sort puts every kind in the order in which Gateway API settles conflicts.
func (o *Objects) Sort() {
	o.sortAll()
	slices.SortFunc(o.Refused, compareRefs)
}

// sortAll puts every kind in order.
func (o *Objects) sortAll() {
	for _, l := range lists {
		l.sortIn(o)
	}
}
