package gateway

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// place is a listener on a port.
type place struct {
	*listener

	port portKey
}

// hostAt is a hostname of a listener on a port.
type hostAt struct {
	*place

	hostname string
}

// key is the same of another builder's listeners.
func (h hostAt) key() hostKey { return hostKey{h.port, h.Key(), h.hostname} }

// seat is a hostname at which a route wants to be, with those of the listener that cover it, from itself to the
// listener's own.
type seat struct {
	*place

	covering []string
}

func (s seat) host() hostAt { return hostAt{s.place, s.covering[0]} }

// wider returns the hostnames that cover the seat's.
func (s seat) wider() []hostAt {
	all := make([]hostAt, len(s.covering)-1)
	for i, hostname := range s.covering[1:] {
		all[i] = hostAt{s.place, hostname}
	}
	return all
}

// isAlone reports whether it is the listener's own hostname.
func (s seat) isAlone() bool { return len(s.covering) == 1 }

// seatedRoute is a route that is counted. Its seats are made when they are asked for: there may be far more of them
// than are laid out.
type seatedRoute struct {
	*Route

	size int               // at one of them
	on   map[string]*seats // of Gateways, by their keys
}

// seats are those of a route on the listeners of a Gateway.
type seats struct {
	listeners []*listener
	count     int
}

// seat finds where a route wants to be. Routes that will not be there for those of another kind have that counted too.
func (b *builder) seat(route *Route) *seatedRoute {
	r := &seatedRoute{Route: route, on: map[string]*seats{}}
	if len(route.FaultsOutside(report.Rules, report.ParentRefs)) > 0 {
		return r // it is left out
	}
	for _, l := range b.listWanted(route) {
		if l.StreamsOnly() {
			continue
		}
		on := r.on[l.gateway.Key()]
		if on == nil {
			on = &seats{}
			r.on[l.gateway.Key()] = on
		}
		on.listeners = append(on.listeners, l)
	}
	for gateway, on := range r.on {
		b.visitSeats(route, on.listeners, func(seat) { on.count++ })
		if on.count == 0 {
			delete(r.on, gateway)
		}
	}
	if len(r.on) > 0 {
		r.size = sizeOf(route)
	}
	return r
}

// listSeats lists a route's seats on a Gateway.
func (b *builder) listSeats(r *seatedRoute, gateway string) []seat {
	on := r.on[gateway]
	all := make([]seat, 0, on.count)
	b.visitSeats(r.Route, on.listeners, func(s seat) { all = append(all, s) })
	return all
}

// visitSeats visits a route's seats on listeners, which share the hostnames as far as they can.
func (b *builder) visitSeats(route *Route, listeners []*listener, visit func(seat)) {
	var of string
	var covered [][]string
	for _, l := range listeners {
		if l.hostname != of {
			of, covered = l.hostname, l.coverCommon(route)
		}
		for _, at := range l.places {
			for _, covering := range covered {
				if on := b.ports[at.port]; len(on) == 1 || ownerOf(on, covering) == l {
					visit(seat{at, covering})
				}
			}
		}
	}
}

// coverCommon gives the hostnames that a route and the listener have in common, each with those of the listener that
// cover it.
func (l *listener) coverCommon(route *Route) (all [][]string) {
	for _, h := range l.intersectRoute(route) {
		covering := coverings(h)
		all = append(all, covering[:slices.Index(covering, l.hostname)+1])
	}
	return all
}

// listWanted lists the listeners that a route names and that admit it, each once.
func (b *builder) listWanted(route *Route) (all []*listener) {
	add := func(l *listener) {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	if route.Host != nil {
		b.visitListeners(route, func(_ string, l *listener) { add(l) })
		return all
	}
	for _, ref := range route.Value.Spec.ParentRefs {
		if !b.isParent(route, ref) {
			continue
		}
		for _, l := range b.listeners[parentKey(route, ref)] {
			if isNamedBy(l, ref) && b.allows(l, route) {
				add(l)
			}
		}
	}
	return all
}
