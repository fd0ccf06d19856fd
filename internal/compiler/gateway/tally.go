package gateway

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Tally counts the bytes that routes take at most, at all hostnames of the listeners that they name, as if each
// hostname were laid out by itself. Routes may come and go. Where budgets do not allow that, a reckoner finds which of
// them share. It takes no memory for hostnames beyond the budget.
type Tally struct {
	b        *builder // for its listeners, and the budget
	routes   map[object.Ref]*seatedRoute
	gateways map[string]*gatewayTally
	// namespaces counts each namespace's routes, by Gateway. Which namespace is charged for copies depends on who came
	// first.
	namespaces map[string]map[string]int
	// last is what Layout gave last for the scarce Gateways, and others are the Gateways whose routes are others since.
	last   *Layout
	scarce map[string]bool
	others map[string]bool
}

// gatewayTally counts what the routes of a Gateway take.
type gatewayTally struct {
	Spent

	routes int
	// hosts are the hostnames that have routes, or more specific hostnames below them; nil while copies are not counted.
	hosts map[hostAt]*tallyHost
}

// tallyHost counts the routes at a hostname, and the more specific hostnames with routes below it.
type tallyHost struct{ routes, bytes, narrower int }

// NewTally makes a Tally for the listeners of an input. It has no routes yet.
func NewTally(in Input) *Tally {
	b := newBuilder(in, &report.Report{}) // whatever there is to say will be said
	b.addGateways(in.objects)
	return newTally(b)
}

func newTally(b *builder) *Tally {
	return &Tally{
		b: b, routes: map[object.Ref]*seatedRoute{}, gateways: map[string]*gatewayTally{},
		namespaces: map[string]map[string]int{}, others: map[string]bool{},
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

// Set replaces the route of a name; nil takes it out.
func (t *Tally) Set(ref object.Ref, route *Route) {
	if was := t.routes[ref]; was != nil {
		t.count(was, -1)
		delete(t.routes, ref)
	}
	if route == nil {
		return
	}
	if r := t.b.seat(route); len(r.on) > 0 {
		t.routes[ref] = r
		t.count(r, 1)
	}
}

// count adds a route, where by is 1, or takes it out, where by is -1.
func (t *Tally) count(r *seatedRoute, by int) {
	for gateway, on := range r.on {
		t.countNamespace(r.Namespace, gateway, by)
		t.others[gateway] = true
		g := t.gateways[gateway]
		if g == nil {
			g = &gatewayTally{}
			t.gateways[gateway] = g
		}
		g.routes += by
		g.Bytes += by * (r.size + hostOverhead) * on.count
		if g.Bytes > t.b.budget.Each() {
			g.forgetCopies()
		} else if g.hosts != nil {
			g.countCopies(r, t.b.listSeats(r, gateway), by)
		}
		if g.routes == 0 {
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

// countCopies adds or takes out the copies of a route, and those of other routes on its hostnames.
func (g *gatewayTally) countCopies(r *seatedRoute, seats []seat, by int) {
	copies := 0
	for _, s := range seats {
		copies += g.countAt(s, by, by*r.size)
	}
	g.Spent = g.plus(Spent{copies, copies})
}

// forgetCopies stops the count of copies.
func (g *gatewayTally) forgetCopies() {
	g.Spent, g.hosts = Spent{Bytes: g.Bytes - g.Copies}, nil
}

// countAt adds or takes out a route at a hostname, and returns by how many bytes all copies grow.
func (g *gatewayTally) countAt(s seat, routes, size int) (copies int) {
	h := g.hostAt(s.host())
	was := h.routes
	h.routes, h.bytes = h.routes+routes, h.bytes+size
	copies = size * h.narrower
	if (was == 0) != (h.routes == 0) {
		for _, at := range s.wider() {
			wider := g.hostAt(at)
			wider.narrower += routes
			copies += routes * wider.bytes
			g.forget(at)
		}
	}
	g.forget(s.host())
	return copies
}

func (g *gatewayTally) hostAt(at hostAt) *tallyHost {
	h := g.hosts[at]
	if h == nil {
		h = &tallyHost{}
		g.hosts[at] = h
	}
	return h
}

func (g *gatewayTally) forget(at hostAt) {
	if *g.hosts[at] == (tallyHost{}) {
		delete(g.hosts, at)
	}
}

// Layout says what budgets allow, in the order of seniority (S86, S87), which always ranks the same routes the same. It
// is computed only for Gateways where there may be too much, and stays the same one while their routes do: a tenant
// with too many makes no change of others slow.
func (t *Tally) Layout(order *seniority.Order) *Layout {
	scarce := t.listScarce()
	if t.stays(scarce) {
		return t.last
	}
	clear(t.others)
	t.last, t.scarce = &Layout{}, scarce
	if len(scarce) > 0 {
		t.last = t.reckon(order, func(gateway string) bool { return scarce[gateway] }).layout
	}
	return t.last
}

// stays reports whether the same Gateways are scarce as before, and have the same routes.
func (t *Tally) stays(scarce map[string]bool) bool {
	for gateway := range scarce {
		if t.others[gateway] {
			return false
		}
	}
	return t.last != nil && maps.Equal(scarce, t.scarce)
}

// layOutAll is Layout for all Gateways, with their usage.
func (t *Tally) layOutAll(order *seniority.Order) (Usage, *Layout) {
	if t.b.budget.All == 0 {
		return Usage{}, &Layout{}
	}
	k := t.reckon(order, func(string) bool { return true })
	return k.Usage, k.layout
}

// reckon lays out the routes of some Gateways, in the order of seniority.
func (t *Tally) reckon(order *seniority.Order, on func(gateway string) bool) *reckoner {
	var routes []*seatedRoute
	for _, r := range t.routes {
		for gateway := range r.on {
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
		for _, gateway := range slices.Sorted(maps.Keys(r.on)) {
			if on(gateway) {
				k.take(r, gateway, t.b.listSeats(r, gateway))
			}
		}
	}
	return k
}

// listScarce lists the Gateways whose routes may exceed a budget. Copies are counted only on Gateways that have room
// for the routes themselves.
func (t *Tally) listScarce() map[string]bool {
	if t.b.budget.All == 0 {
		return nil
	}
	full := t.listFull(false)
	var added []string
	for gateway, g := range t.gateways {
		if !full[gateway] && g.hosts == nil {
			added, g.hosts = append(added, gateway), map[hostAt]*tallyHost{}
		}
	}
	if len(added) > 0 {
		t.countCopiesOn(added)
	}
	return t.listFull(true)
}

func (t *Tally) countCopiesOn(gateways []string) {
	for _, r := range t.routes {
		for _, gateway := range gateways {
			if r.on[gateway] != nil {
				t.gateways[gateway].countCopies(r, t.b.listSeats(r, gateway), 1)
			}
		}
	}
}

// listFull lists the Gateways whose count exceeds a budget: the Gateway's own, that of a namespace on all its Gateways,
// or that of all Gateways. No Gateway and no namespace takes more of that than its own budget. counted says that where
// copies are not counted they may be any number.
func (t *Tally) listFull(counted bool) map[string]bool {
	var nothing, ofGateways, ofNamespaces Spent
	each, all, full := t.b.budget.Each(), t.b.budget.All, map[string]bool{}
	for _, g := range t.gateways {
		ofGateways = ofGateways.plus(g.most(each, counted))
	}
	for _, gateways := range t.namespaces {
		var most Spent // that the namespace may be charged: what shares no longer is charged to whoever comes
		for gateway := range gateways {
			most = most.plus(t.gateways[gateway].most(each, counted))
		}
		if !nothing.fits(most, each) {
			for gateway := range gateways {
				full[gateway] = true
			}
		}
		ofNamespaces = ofNamespaces.plus(most.atMost(each))
	}
	isFull := !nothing.fits(ofGateways, all) && !nothing.fits(ofNamespaces, all)
	for gateway, g := range t.gateways {
		if isFull || !nothing.fits(g.Spent, each) {
			full[gateway] = true
		}
	}
	return full
}

// most is what a Gateway's routes take of other budgets than its own.
func (g *gatewayTally) most(each int, counted bool) Spent {
	if g.Bytes > each || counted && g.hosts == nil {
		return Spent{each, each / 2}
	}
	return g.atMost(each)
}
