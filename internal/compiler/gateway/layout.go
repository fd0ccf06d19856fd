package gateway

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// NewLayout says what is laid out of an input, before anything is.
func NewLayout(in Input) *Layout {
	b := newBuilder(in, &report.Report{}) // whatever there is to say will be said
	b.addGateways(in.objects)
	b.attachRoutes()
	return b.newLayout()
}

// seat is a hostname of a listener on a port.
type seat struct {
	port     portKey
	listener *listener
	hostname string
}

func (s seat) key() hostAt { return hostAt{s.port, s.listener.Key(), s.hostname} }

// seatedRoute is a route with the hostnames at which it is attached to the listeners of a Gateway.
type seatedRoute struct {
	*Route
	gateway string
	seats   []seat
	size    int // at one of them
}

// reckoner lays routes out, as far as there is room for them.
type reckoner struct {
	Usage
	budget Budget
	layout *Layout
	hosts  map[seat]bool       // that have routes
	wide   map[seat]*wideTable // of hostnames that cover others
}

// wideTable is what the more specific hosts have of a hostname's routes.
type wideTable struct {
	hosts map[string]bool // that have them
	sizes map[*Route]int  // of those routes, and
	each  int             // of all of them together
}

// newLayout decides in the order of seniority (S86, S105). Who is senior is asked only where there is not room for all.
func (b *builder) newLayout() *Layout {
	if b.budget.All == 0 {
		return &Layout{}
	}
	routes := b.listSeatedRoutes()
	all := newReckoner(Budget{})
	for _, r := range routes {
		all.take(r)
	}
	if all.fits(b.budget) {
		all.layout.Usage = all.Usage
		return all.layout
	}
	slices.SortStableFunc(routes, func(x, y seatedRoute) int { return b.order.Compare(x.Origin(), y.Origin()) })
	some := newReckoner(b.budget)
	for _, r := range routes {
		some.take(r)
	}
	some.layout.Usage = some.Usage
	return some.layout
}

func newReckoner(budget Budget) *reckoner {
	return &reckoner{
		Usage: Usage{Gateways: map[string]Spent{}, Namespaces: map[string]Spent{}}, budget: budget, hosts: map[seat]bool{}, wide: map[seat]*wideTable{},
		layout: &Layout{routes: map[routeAt]Shortage{}, copies: map[hostAt]*copies{}},
	}
}

// listSeatedRoutes lists the routes of requests with the hostnames at which they are attached, those of one Gateway after another's.
func (b *builder) listSeatedRoutes() (all []seatedRoute) {
	places := map[string]map[*Route]int{} // in the list, by Gateway
	for _, port := range slices.SortedFunc(maps.Keys(b.ports), comparePorts) {
		listeners := b.ports[port]
		for _, hostname := range slices.Sorted(maps.Keys(listeners)) {
			l := listeners[hostname]
			if l.StreamsOnly() {
				continue
			}
			gateway := l.gateway.Key()
			if places[gateway] == nil {
				places[gateway] = map[*Route]int{}
			}
			for _, route := range l.routes {
				at, known := places[gateway][route]
				if !known {
					at = len(all)
					places[gateway][route] = at
					all = append(all, seatedRoute{Route: route, gateway: gateway, size: sizeOf(route)})
				}
				for _, h := range l.common[route] {
					if ownerOf(listeners, h) == l {
						all[at].seats = append(all[at].seats, seat{port, l, h})
					}
				}
			}
		}
	}
	return all
}

// ownerOf is the most specific listener of a port that covers a hostname.
func ownerOf(listeners map[string]*listener, hostname string) *listener {
	for _, h := range coverings(hostname) {
		if l := listeners[h]; l != nil {
			return l
		}
	}
	return nil
}

// fits reports whether all that was laid out without a budget has room in one. Whose namespace a copy is charged to depends on the order,
// so that all copies count for each.
func (k *reckoner) fits(budget Budget) bool {
	each := budget.Each()
	for _, spent := range k.Gateways {
		if !(Spent{}).hasRoom(spent, each) {
			return false
		}
	}
	for _, spent := range k.Namespaces {
		if !(Spent{}).hasRoom(Spent{spent.Bytes + k.All.Copies, k.All.Copies}, each) {
			return false
		}
	}
	return (Spent{}).hasRoom(k.All, budget.All)
}

// take lays a route out at its hostnames on a Gateway, or nowhere there.
func (k *reckoner) take(r seatedRoute) {
	if short, fits := k.charge(k.budget, r.Namespace, r.gateway, Spent{Bytes: r.size * len(r.seats)}); !fits {
		k.layout.routes[routeAt{r.Origin().Ref, r.gateway}] = short
		return
	}
	for _, s := range r.seats {
		k.takeRoute(r, s)
	}
	for _, s := range r.seats {
		k.takeHost(r, s)
	}
}

// takeRoute lays a route of a wide hostname out to the more specific hosts that came before it. Those of its own are no copies.
func (k *reckoner) takeRoute(r seatedRoute, s seat) {
	if countWildcard(s.hostname) == 0 {
		return
	}
	table := k.tableOf(s)
	hosts := len(table.hosts)
	for _, own := range s.listener.common[r.Route] {
		if table.hosts[own] {
			hosts--
		}
	}
	if short, fits := k.chargeCopies(r, r.size*hosts); !fits {
		k.layout.withhold(s.key(), r.Origin().Ref).routes[r.Origin().Ref] = short
		return
	}
	table.each, table.sizes[r.Route] = table.each+r.size, r.size
}

// takeHost gives a host that has its first route now those of each wider hostname that came before it. Those that it has itself are no
// copies.
func (k *reckoner) takeHost(r seatedRoute, s seat) {
	if k.hosts[s] {
		return
	}
	k.hosts[s] = true
	for _, wider := range coverings(s.hostname)[1:] {
		if !covers(s.listener.hostname, wider) {
			break
		}
		at := seat{s.port, s.listener, wider}
		table := k.tableOf(at)
		if short, fits := k.chargeCopies(r, table.each-table.sizes[r.Route]); fits {
			table.hosts[s.hostname] = true
		} else {
			k.layout.withhold(at.key(), r.Origin().Ref).hosts[s.hostname] = short
		}
	}
}

func (k *reckoner) tableOf(s seat) *wideTable {
	table := k.wide[s]
	if table == nil {
		table = &wideTable{hosts: map[string]bool{}, sizes: map[*Route]int{}}
		k.wide[s] = table
	}
	return table
}

// chargeCopies charges whoever comes.
func (k *reckoner) chargeCopies(r seatedRoute, size int) (Shortage, bool) {
	if size == 0 {
		return Shortage{}, true
	}
	return k.charge(k.budget, r.Namespace, r.gateway, Spent{size, size})
}
