package gateway

// reckoner lays routes out, as far as there is room for them.
type reckoner struct {
	Usage
	budget Budget
	layout *Layout
	hosts  map[hostAt]bool       // that have routes
	wide   map[hostAt]*wideTable // of hostnames that cover others
}

// wideTable is what the more specific hosts have of a hostname's routes.
type wideTable struct {
	hosts map[hostAt]bool // that have them
	sizes map[*Route]int  // of those routes, and
	each  int             // of all of them together
}

func newReckoner(budget Budget) *reckoner {
	return &reckoner{
		Usage: Usage{Gateways: map[string]Spent{}, Namespaces: map[string]Spent{}}, budget: budget,
		hosts: map[hostAt]bool{}, wide: map[hostAt]*wideTable{},
		layout: &Layout{routes: map[routeAt]Shortage{}, copies: map[hostAt]*copies{}},
	}
}

// take lays a route out at its hostnames on a Gateway, or nowhere there.
func (k *reckoner) take(r *seatedRoute, gateway string) {
	seats := r.seats[gateway]
	if short, fits := k.charge(k.budget, r.Namespace, gateway, Spent{Bytes: r.size * len(seats)}); !fits {
		k.layout.routes[routeAt{r.Ref(), gateway}] = short
		return
	}
	for _, s := range seats {
		k.takeRoute(r, gateway, s)
	}
	for _, s := range seats {
		k.takeHost(r, gateway, s)
	}
}

// takeRoute lays a route of a wide hostname out to the more specific hosts that came before it. Those of its own are no copies.
func (k *reckoner) takeRoute(r *seatedRoute, gateway string, s seat) {
	if countWildcard(s.hostname) == 0 {
		return
	}
	table := k.tableOf(s.hostAt)
	hosts := len(table.hosts)
	for _, own := range r.seats[gateway] {
		if table.hosts[own.hostAt] {
			hosts--
		}
	}
	if short, fits := k.chargeCopies(r, gateway, r.size*hosts); !fits {
		k.layout.withhold(s.hostAt, r.Ref()).routes[r.Ref()] = short
		return
	}
	table.each, table.sizes[r.Route] = table.each+r.size, r.size
}

// takeHost gives a host that has its first route now those of each wider hostname that came before it. Those that it has itself are no
// copies.
func (k *reckoner) takeHost(r *seatedRoute, gateway string, s seat) {
	if k.hosts[s.hostAt] {
		return
	}
	k.hosts[s.hostAt] = true
	for _, wider := range s.wider {
		table := k.tableOf(wider)
		if short, fits := k.chargeCopies(r, gateway, table.each-table.sizes[r.Route]); fits {
			table.hosts[s.hostAt] = true
		} else {
			k.layout.withhold(wider, r.Ref()).hosts[s.hostname] = short
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

// chargeCopies charges whoever comes.
func (k *reckoner) chargeCopies(r *seatedRoute, gateway string, size int) (Shortage, bool) {
	if size == 0 {
		return Shortage{}, true
	}
	return k.charge(k.budget, r.Namespace, gateway, Spent{size, size})
}
