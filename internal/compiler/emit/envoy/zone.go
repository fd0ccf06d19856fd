package envoy

import (
	"slices"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

func isFar(e ir.Endpoint) bool { return e.Far }

// assignByZone gives near hosts priority over far ones, as long as one in a hundred of them serves. Pins go by address,
// whatever the priority, so that a session stays where it is.
func assignByZone(to *endpointv3.ClusterLoadAssignment, c *ir.Cluster) *endpointv3.ClusterLoadAssignment {
	to.Policy = &endpointv3.ClusterLoadAssignment_Policy{OverprovisioningFactor: wrapperspb.UInt32(overprovisioning)}
	near, far := c.Localities[0], c.Localities[0]
	near.Endpoints = slices.DeleteFunc(slices.Clone(near.Endpoints), isFar)
	far.Endpoints = slices.DeleteFunc(slices.Clone(far.Endpoints), func(e ir.Endpoint) bool { return !e.Far })
	to.Endpoints = []*endpointv3.LocalityLbEndpoints{newLocality(near, c), newLocality(far, c)}
	to.Endpoints[1].Priority = 1
	return to
}
