package gateway

import "strings"

// sharedHosts are hosts of a listener on a port that have equal routes, which are laid out once.
type sharedHosts struct {
	hosts map[hostAt]bool
	spent Spent
}

// someHosts are some of those that share.
type someHosts struct {
	of    *sharedHosts
	hosts []hostAt
}

// cost is what it takes to give these hosts more routes: they no longer share with hosts that do not get these.
func (s *someHosts) cost(more Spent) Spent {
	if len(s.hosts) < len(s.of.hosts) {
		return s.of.spent.plus(more)
	}
	return more
}

// enter enters the hosts among seats that had no routes, and gives those that share: all that are below the same wider
// hostnames with routes. A listener's own hostname shares with none, for it is there without routes too.
func (k *reckoner) enter(seats []seat) (entered [][]seat) {
	type group struct {
		hostAt

		wider string
	}
	known := map[group]int{}
	for _, s := range seats {
		if k.hosts[s.host()] != nil {
			continue
		}
		of := group{hostAt: s.host()}
		if !s.isAlone() {
			of = group{hostAt{s.place, ""}, k.listTables(s)}
		}
		i, is := known[of]
		if !is {
			i, entered = len(entered), append(entered, nil)
			known[of] = i
		}
		entered[i] = append(entered[i], s)
	}
	for _, some := range entered {
		shared := &sharedHosts{hosts: make(map[hostAt]bool, len(some))}
		for _, s := range some {
			shared.hosts[s.host()], k.hosts[s.host()] = true, shared
		}
	}
	return entered
}

// listTables lists the hostnames with routes that cover a host.
func (k *reckoner) listTables(s seat) string {
	var wider []string
	for _, at := range s.wider() {
		if table := k.wide[at]; table != nil && table.each > 0 {
			wider = append(wider, at.hostname)
		}
	}
	return strings.Join(wider, " ")
}

// divide groups hosts by the hosts that they share with.
func (k *reckoner) divide(hosts map[hostAt]bool) (all []*someHosts) {
	known := map[*sharedHosts]*someHosts{}
	for h := range hosts {
		of := k.hosts[h]
		some := known[of]
		if some == nil {
			some = &someHosts{of: of}
			known[of], all = some, append(all, some)
		}
		some.hosts = append(some.hosts, h)
	}
	return all
}

// layOut lays out a route to hosts, if budgets allow it. more is what each host gets, and all what the route takes
// besides.
func (k *reckoner) layOut(r *seatedRoute, gateway string, to []*someHosts, more, all Spent) (Shortage, bool) {
	for _, some := range to {
		all = all.plus(some.cost(more))
	}
	short, fits := k.charge(k.budget, r.Namespace, gateway, all)
	if fits {
		for _, some := range to {
			k.give(some, more)
		}
	}
	return short, fits
}

// give gives hosts more, apart from those with which they share no longer.
func (k *reckoner) give(some *someHosts, more Spent) {
	shared := some.of
	if len(some.hosts) < len(shared.hosts) {
		shared = &sharedHosts{hosts: make(map[hostAt]bool, len(some.hosts)), spent: some.of.spent}
		for _, h := range some.hosts {
			delete(some.of.hosts, h)
			shared.hosts[h], k.hosts[h] = true, shared
		}
	}
	shared.spent = shared.spent.plus(more)
}
