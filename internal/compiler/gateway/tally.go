package gateway

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Tally counts what routes come to at most, at all hostnames of the listeners that they name, for routes that come and go: as if each
// hostname were laid out by itself. Where there is not room for that, a reckoner looks which of them share.
type Tally struct {
	b      *builder // for its listeners, and the budget
	routes map[object.Ref]*seatedRoute
	// gateways are what all routes need, and hosts what they need at a hostname. To which namespace that is charged depends on who came
	// first: namespaces counts the routes that each has on Gateways.
	gateways   map[string]Spent
	namespaces map[string]map[string]int
	all        Spent
	hosts      map[hostAt]*tallyHost
}

// tallyHost is the routes at a hostname, and how many more specific hostnames with routes are below it.
type tallyHost struct{ routes, bytes, narrower int }

// seat is a hostname of a listener on a port, with those that cover it there.
type seat struct {
	hostAt
	wider []hostAt
	alone bool // it is the listener's own hostname
}

// seatedRoute is a route with the hostnames at which it wants to be on Gateways.
type seatedRoute struct {
	*Route
	size  int // at one of them
	seats map[string][]seat
}

// NewTally counts for the listeners of an input, and no routes yet.
func NewTally(in Input) *Tally {
	b := newBuilder(in, &report.Report{}) // whatever there is to say will be said
	b.addGateways(in.objects)
	return newTally(b)
}

func newTally(b *builder) *Tally {
	return &Tally{
		b: b, routes: map[object.Ref]*seatedRoute{}, gateways: map[string]Spent{}, namespaces: map[string]map[string]int{},
		hosts: map[hostAt]*tallyHost{},
	}
}

// tally counts all routes.
func (b *builder) tally() *Tally {
	t := newTally(b)
	for _, route := range slices.Concat(b.objects.Routes, b.objects.HostRoutes) {
		t.Set(route.Ref(), route)
	}
	return t
}

// Set counts the route of a name; nil counts none.
func (t *Tally) Set(ref object.Ref, route *Route) {
	if was := t.routes[ref]; was != nil {
		t.count(was, -1)
		delete(t.routes, ref)
	}
	if route == nil {
		return
	}
	if r := t.b.seat(route); len(r.seats) > 0 {
		t.routes[ref] = r
		t.count(r, 1)
	}
}

// count counts a route in or out.
func (t *Tally) count(r *seatedRoute, by int) {
	for gateway, seats := range r.seats {
		more := Spent{Bytes: by * r.size * len(seats)}
		t.countNamespace(r.Namespace, gateway, by)
		for _, s := range seats {
			more.Copies += t.countAt(s, by, by*r.size)
		}
		more.Bytes += more.Copies
		t.all = t.all.plus(more)
		if t.gateways[gateway] = t.gateways[gateway].plus(more); t.gateways[gateway] == (Spent{}) {
			delete(t.gateways, gateway)
		}
	}
}

func (t *Tally) countNamespace(name, gateway string, routes int) {
	gateways := t.namespaces[name]
	if gateways == nil {
		gateways = map[string]int{}
		t.namespaces[name] = gateways
	}
	if gateways[gateway] += routes; gateways[gateway] == 0 {
		delete(gateways, gateway)
	}
	if len(gateways) == 0 {
		delete(t.namespaces, name)
	}
}

// countAt counts a route at a hostname, and gives how many bytes more all copies are.
func (t *Tally) countAt(s seat, routes, size int) (copies int) {
	h := t.hostAt(s.hostAt)
	was := h.routes
	h.routes, h.bytes = h.routes+routes, h.bytes+size
	copies = size * h.narrower
	if (was == 0) != (h.routes == 0) {
		for _, at := range s.wider {
			wider := t.hostAt(at)
			wider.narrower += routes
			copies += routes * wider.bytes
			t.forget(at)
		}
	}
	t.forget(s.hostAt)
	return copies
}

func (t *Tally) hostAt(at hostAt) *tallyHost {
	h := t.hosts[at]
	if h == nil {
		h = &tallyHost{}
		t.hosts[at] = h
	}
	return h
}

func (t *Tally) forget(at hostAt) {
	if *t.hosts[at] == (tallyHost{}) {
		delete(t.hosts, at)
	}
}

// seat finds the hostnames at which a route wants to be. Routes that will not be there for those of another kind have them counted too.
func (b *builder) seat(route *Route) *seatedRoute {
	r := &seatedRoute{Route: route, seats: map[string][]seat{}}
	if len(route.FaultsOutside(report.Rules, report.ParentRefs)) > 0 {
		return r // it is left out
	}
	for _, l := range b.listWanted(route) {
		if l.StreamsOnly() {
			continue
		}
		gateway := l.gateway.Key()
		var covered [][]string // each hostname, with those that cover it
		for _, h := range l.intersectRoute(route) {
			covered = append(covered, coverings(h))
		}
		for _, port := range l.ports {
			for _, covering := range covered {
				if ownerOf(b.ports[port], covering) == l {
					r.seats[gateway] = append(r.seats[gateway], l.newSeat(port, covering))
				}
			}
		}
	}
	if len(r.seats) > 0 {
		r.size = sizeOf(route)
	}
	return r
}

// newSeat is a hostname of a listener on a port, the first of those that cover it.
func (l *listener) newSeat(port portKey, covering []string) seat {
	s := seat{hostAt: hostAt{port, l.Key(), covering[0]}, alone: covering[0] == l.hostname}
	for _, wider := range covering[1:] {
		if covers(l.hostname, wider) {
			s.wider = append(s.wider, hostAt{port, l.Key(), wider})
		}
	}
	return s
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

// Layout says what there is room for, in the order of seniority (S86, S87). That is asked only of Gateways where there may not be room for
// all.
func (t *Tally) Layout(order *seniority.Order) *Layout {
	scarce := t.listScarce()
	if len(scarce) == 0 {
		return &Layout{}
	}
	return t.reckon(order, func(gateway string) bool { return scarce[gateway] }).layout
}

// layOutAll is Layout with how much is laid out.
func (t *Tally) layOutAll(order *seniority.Order) (Usage, *Layout) {
	if t.b.budget.All == 0 {
		return Usage{}, &Layout{}
	}
	k := t.reckon(order, func(string) bool { return true })
	return k.Usage, k.layout
}

// reckon lays routes out on some Gateways.
func (t *Tally) reckon(order *seniority.Order, on func(gateway string) bool) *reckoner {
	var routes []*seatedRoute
	for _, r := range t.routes {
		for gateway := range r.seats {
			if on(gateway) {
				routes = append(routes, r)
				break
			}
		}
	}
	slices.SortFunc(routes, func(x, y *seatedRoute) int {
		return cmp.Or(order.Compare(x.Origin(), y.Origin()), cmp.Compare(x.Kind, y.Kind))
	})
	k := newReckoner(t.b.budget)
	for _, r := range routes {
		for _, gateway := range slices.Sorted(maps.Keys(r.seats)) {
			if on(gateway) {
				k.take(r, gateway)
			}
		}
	}
	return k
}

// listScarce lists the Gateways on which there may not be room for all routes: because they have too many, or all of those together do
// where a namespace has some, or all Gateways together have.
func (t *Tally) listScarce() map[string]bool {
	budget, nothing, scarce := t.b.budget, Spent{}, map[string]bool{}
	if budget.All == 0 {
		return nil
	}
	each, all := budget.Each(), !nothing.hasRoom(t.all, budget.All)
	for gateway, spent := range t.gateways {
		if all || !nothing.hasRoom(spent, each) {
			scarce[gateway] = true
		}
	}
	for _, gateways := range t.namespaces {
		var most Spent // that the namespace may be charged: what shares no longer is charged to whoever comes
		for gateway := range gateways {
			most = most.plus(t.gateways[gateway])
		}
		if !nothing.hasRoom(most, each) {
			for gateway := range gateways {
				scarce[gateway] = true
			}
		}
	}
	return scarce
}
