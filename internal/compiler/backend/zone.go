package backend

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// whereabouts are the zones of a port's endpoints, for an Envoy whose own zone is known.
type whereabouts map[endpointKey]*discoveryv1.Endpoint

// note remembers where an endpoint is.
func (w whereabouts) note(e ir.Endpoint, written *discoveryv1.Endpoint) {
	if w != nil {
		w[endpointKey{e.Host, e.Address}] = written
	}
}

func (w whereabouts) findWritten(e ir.Endpoint) *discoveryv1.Endpoint {
	return w[endpointKey{e.Host, e.Address}]
}

// markFar marks the endpoints that get requests without a session only while no near one serves. As in kube-proxy,
// hints decide where every endpoint that takes new requests has some. Where none has any, the endpoint's zone decides
// if the Service wishes for near endpoints. Where no endpoint is near, none is far.
func (w whereabouts) markFar(endpoints []ir.Endpoint, wished bool, zone string) {
	if w == nil {
		return
	}
	all, any := true, false
	for _, e := range endpoints {
		if !e.Draining {
			hinted := hasZoneHints(w.findWritten(e))
			all, any = all && hinted, any || hinted
		}
	}
	isNear := func(e *discoveryv1.Endpoint) bool { return e.Zone != nil && *e.Zone == zone }
	switch {
	case any && all:
		isNear = func(e *discoveryv1.Endpoint) bool {
			return hasZoneHints(e) &&
				slices.ContainsFunc(e.Hints.ForZones, func(z discoveryv1.ForZone) bool { return z.Name == zone })
		}
	case any || !wished:
		return
	}
	near := func(e ir.Endpoint) bool { return !e.Draining && isNear(w.findWritten(e)) }
	if !slices.ContainsFunc(endpoints, near) {
		return
	}
	for i := range endpoints {
		endpoints[i].Far = !isNear(w.findWritten(endpoints[i]))
	}
}

func hasZoneHints(e *discoveryv1.Endpoint) bool { return e.Hints != nil && len(e.Hints.ForZones) > 0 }
