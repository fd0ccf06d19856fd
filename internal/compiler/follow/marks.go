package follow

import (
	"net/netip"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// marks are what has to be made again.
type marks struct {
	base     bool
	routes   map[object.Ref]bool
	policies map[*sessionPolicy]bool
	// endpoints are the Services whose slices have changed, by namespace/name.
	endpoints map[string]bool
}

func newMarks() marks {
	return marks{
		base: true, routes: map[object.Ref]bool{}, policies: map[*sessionPolicy]bool{}, endpoints: map[string]bool{},
	}
}

// updateNodes takes over which machines the cluster has, and marks the parts with hosts at addresses of which that says
// something else.
func (s *State) updateNodes(now *backend.Nodes) {
	moved := s.nodes.ListChanged(now)
	if len(moved) == 0 {
		return
	}
	s.nodes, s.marks.base = now, true
	for service, some := range s.objects.slices {
		for o := range some {
			if hasEndpointAt(o, func(at netip.Addr) bool { return moved[at] }) {
				visitEndpoints(service, s.change)
			}
		}
	}
}

// markPlaces marks the parts for which it makes a difference where endpoints may not be: those that lead into a
// namespace whose Gateways have moved, and those with hosts that may be at any address.
func (s *State) markPlaces(was, now *backend.Places) {
	if was.Equal(now) {
		return
	}
	for _, namespace := range was.ListChanged(now) {
		s.change(contentsKey(namespace))
	}
	s.change(key{about: places})
}
