package backend

import (
	"cmp"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// appendAddress appends an endpoint's address, unless the endpoint is behind a DNS name.
func appendAddress(all []netip.AddrPort, e ir.Endpoint) []netip.AddrPort {
	if e.Host != "" {
		return all
	}
	return append(all, e.Address)
}

// newEndpoint makes an endpoint of parts that package resource has checked.
func newEndpoint(namespace string, from *discoveryv1.Endpoint, port int32, draining bool) ir.Endpoint {
	e := ir.Endpoint{Address: netip.AddrPortFrom(netip.MustParseAddr(from.Addresses[0]), uint16(port)), Draining: draining}
	e.Pod.Namespace = namespace
	if from.TargetRef != nil {
		e.Pod.UID, e.Pod.Object = string(from.TargetRef.UID), from.TargetRef.Name
	}
	if from.Hostname != nil {
		e.Pod.Name = *from.Hostname
	}
	return e
}

// endpointKey tells endpoints apart.
type endpointKey struct {
	host    string
	address netip.AddrPort
}

// addEndpoint adds an endpoint. One that is listed twice drains only if both entries drain.
func addEndpoint(found map[endpointKey]ir.Endpoint, e ir.Endpoint) {
	key := endpointKey{e.Host, e.Address}
	if was, twice := found[key]; !twice || was.Draining {
		found[key] = e
	}
}

// addLeft adds a pod that its Service no longer selects, unless there is an endpoint at its address.
func addLeft(found map[endpointKey]ir.Endpoint, e ir.Endpoint) (added bool) {
	key := endpointKey{e.Host, e.Address}
	if _, taken := found[key]; taken {
		return false
	}
	found[key] = e
	return true
}

// readConditions reads an endpoint's conditions. It is ready unless they say otherwise. One that terminates and still
// serves drains; any other does not serve.
func readConditions(c discoveryv1.EndpointConditions) (draining, serves bool) {
	if c.Ready == nil || *c.Ready {
		return false, true
	}
	serving, terminating := c.Serving != nil && *c.Serving, c.Terminating != nil && *c.Terminating
	return true, serving && terminating
}

func sortEndpoints(found map[endpointKey]ir.Endpoint) []ir.Endpoint {
	list := make([]ir.Endpoint, 0, len(found))
	for _, e := range found {
		list = append(list, e)
	}
	slices.SortFunc(
		list,
		func(a, b ir.Endpoint) int { return cmp.Or(cmp.Compare(a.Host, b.Host), a.Address.Compare(b.Address)) },
	)
	return list
}
