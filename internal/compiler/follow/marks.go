package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// marks are what has to be made anew.
type marks struct {
	frame    bool
	all      bool // every group
	routes   map[object.Ref]bool
	policies map[*sessionPolicy]bool
	// endpoints are the Services whose slices have changed, by namespace/name.
	endpoints map[string]bool
}

func newMarks() marks {
	return marks{
		frame: true, routes: map[object.Ref]bool{}, policies: map[*sessionPolicy]bool{}, endpoints: map[string]bool{},
	}
}

// markRoute marks the group of a route, or the frame for one of connections.
func (s *State) markRoute(ref object.Ref) {
	if resource.IsStreamRoute(ref.Kind) {
		s.marks.frame = true
		return
	}
	s.marks.routes[ref] = true
}

// markPlaces marks the parts for which it makes a difference where endpoints may not be: those that lead into a namespace whose
// Gateways have moved, and those with hosts that may be at any address.
func (s *State) markPlaces(was, now *backend.Places) {
	if was.Equal(now) {
		return
	}
	for _, namespace := range was.ListMoved(now) {
		s.change(contentsKey(namespace))
	}
	s.change(key{about: places})
}
