package gateway

import (
	"maps"
	"slices"
)

// reckoner lays routes out, as far as budgets allow.
type reckoner struct {
	Usage
	budget Budget
	layout *Layout
	hosts  map[hostAt]*sharedHosts // that have routes
	wide   map[hostAt]*wideTable   // of hostnames that cover others
}

// wideTable is what the more specific hosts have of a hostname's routes.
type wideTable struct {
	hosts  map[hostAt]bool // that have them
	shared int             // as how many sharedHosts they were counted last: they are no fewer now
	sizes  map[*Route]int  // of those routes, and
	each   int             // of all of them together
}

func newReckoner(budget Budget) *reckoner {
	return &reckoner{
		Usage: Usage{Gateways: map[string]Spent{}, Namespaces: map[string]Spent{}}, budget: budget,
		hosts: map[hostAt]*sharedHosts{}, wide: map[hostAt]*wideTable{},
		layout: &Layout{routes: map[routeAt]Shortage{}, copies: map[hostKey]*copies{}},
	}
}

// take lays a route out at its hostnames on a Gateway, or nowhere there.
func (k *reckoner) take(r *seatedRoute, gateway string, seats []seat) {
	entered := k.enter(seats)
	own := make(map[hostAt]bool, len(seats))
	for _, s := range seats {
		own[s.host()] = true
	}
	names := Spent{Bytes: hostOverhead * len(slices.Concat(entered...))}
	if short, fits := k.layOut(r, gateway, k.divide(own), Spent{Bytes: r.size}, names); !fits {
		k.layout.routes[routeAt{r.Ref(), gateway}] = short
		for _, s := range slices.Concat(entered...) {
			delete(k.hosts, s.host())
		}
		return
	}
	for _, s := range seats {
		k.takeRoute(r, gateway, s.host(), own)
	}
	for _, some := range entered {
		k.takeHosts(r, gateway, some)
	}
}

// takeRoute lays out a route of a wide hostname to the more specific hosts that came before it. The route's own hosts
// are no copies.
func (k *reckoner) takeRoute(r *seatedRoute, gateway string, at hostAt, own map[hostAt]bool) {
	if countWildcard(at.hostname) == 0 {
		return
	}
	table, each := k.tableOf(at), Spent{r.size, r.size}
	least := r.size * max(0, table.shared-len(own))
	short, fits := k.findShortage(k.budget, r.Namespace, gateway, Spent{least, least}) // else nothing needs to be counted
	if fits {
		others := maps.Clone(table.hosts)
		maps.DeleteFunc(others, func(h hostAt, _ bool) bool { return own[h] })
		to := k.divide(others)
		table.shared = max(table.shared, len(to))
		short, fits = k.layOut(r, gateway, to, each, Spent{})
	}
	if !fits {
		k.layout.withhold(at.key(), r.Ref()).routes[r.Ref()] = short
		return
	}
	table.each, table.sizes[r.Route] = table.each+r.size, r.size
}

// takeHosts gives hosts that have their first route now, and share it, those of each wider hostname that came before.
// Those that they have themselves are no copies.
func (k *reckoner) takeHosts(r *seatedRoute, gateway string, seats []seat) {
	shared, short, fits := k.hosts[seats[0].host()], map[hostAt]Shortage{}, map[hostAt]bool{}
	for _, s := range seats {
		for _, wider := range s.wider() {
			table := k.tableOf(wider)
			if _, known := fits[wider]; !known {
				size := table.each - table.sizes[r.Route]
				more := Spent{size, size}
				if short[wider], fits[wider] = k.charge(k.budget, r.Namespace, gateway, more); fits[wider] {
					shared.spent = shared.spent.plus(more)
				}
			}
			if fits[wider] {
				table.hosts[s.host()] = true
			} else {
				k.layout.withhold(wider.key(), r.Ref()).hosts[s.covering[0]] = short[wider]
			}
		}
	}
}

func (k *reckoner) tableOf(at hostAt) *wideTable {
	table := k.wide[at]
	if table == nil {
		table = &wideTable{hosts: map[hostAt]bool{}, sizes: map[*Route]int{}}
		k.wide[at] = table
	}
	return table
}
