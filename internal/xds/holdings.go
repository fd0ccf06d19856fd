package xds

import (
	"slices"
	"time"
)

// want is the resource of a name that the Envoy ought to have now.
func (c *client) want(t Type, name string) *Resource {
	r := c.target.resources[t][name]
	if latest := c.latest.resources[t][name]; t == Endpoint && latest != nil {
		r = latest
	}
	for r != nil && r.Settled != nil && r.since > c.routed {
		r = r.Settled
	}
	return r
}

// isSettled tells whether the Envoy has what it ought to, or has rejected that.
func (c *client) isSettled(t Type, r *Resource) bool {
	k := &c.types[t]
	return k.has[r.Name] == r.Version || k.rejected[r.Name].Version == r.Version || c.isWithheld(t, r)
}

// isWithheld tells whether routes lead to a cluster that the Envoy has rejected, and has no older one of: what it has of
// the routes goes on.
func (c *client) isWithheld(t Type, r *Resource) bool {
	if t != Routes || len(c.types[Cluster].rejected) == 0 || c.types[Routes].has[r.Name] == "" {
		return false
	}
	return slices.ContainsFunc(r.Needs, func(name string) bool {
		return c.types[Cluster].rejected[name].Version != "" && c.types[Cluster].has[name] == ""
	})
}

// hasAll tells whether everything of a type is settled; hasAsked leaves out what the Envoy has not asked for.
func (c *client) hasAll(t Type) bool { return c.has(t, false) }

func (c *client) hasAsked(t Type) bool { return c.has(t, true) }

func (c *client) has(t Type, asked bool) bool {
	if c.isClean(t) {
		return true
	}
	k := &c.types[t]
	for name := range c.listOpen(t) {
		if asked && !k.wildcard && !k.names[name] {
			continue
		}
		if !c.isSettled(t, c.want(t, name)) {
			return false
		}
	}
	return true
}

// listOpen gives the resources of a type that the Envoy may not have as it should: those that are others than when it had all, if that is
// known, so that thousands need not be looked at.
func (c *client) listOpen(t Type) map[string]*Resource {
	all := c.target.resources[t]
	names, known := c.findOpen(t)
	if !known {
		return all
	}
	open := make(map[string]*Resource, len(names))
	for _, name := range names {
		if r := all[name]; r != nil {
			open[name] = r
		}
	}
	return open
}

// findOpen gives the names that are of something else, or nothing, since the Envoy had all resources of a type; false where that is
// not known.
func (c *client) findOpen(t Type) (names []string, known bool) {
	k := &c.types[t]
	if t == Endpoint && !c.isTold() {
		return nil, false
	}
	wanted := []*Snapshot{c.target}
	if t == Endpoint && c.latest != c.target {
		wanted = append(wanted, c.latest)
	}
	for _, s := range wanted {
		switch {
		case !k.clean, k.moving && s.sums[t] != k.movingTo:
			return nil, false
		case s.edited[t].from == k.cleanAt && s.sums[t] != k.cleanAt:
			names = append(names, s.edited[t].names...)
		case s.sums[t] != k.cleanAt || k.moving:
			return nil, false
		}
	}
	return names, true
}

// hasEndpoints tells whether every cluster has endpoints that are as new as the target: those that come meanwhile are
// not waited for.
func (c *client) hasEndpoints() bool {
	if c.isClean(Endpoint) {
		return true
	}
	k := &c.types[Endpoint]
	for name, r := range c.listOpen(Endpoint) {
		settled := k.has[name] == r.Version || k.has[name] != "" && c.renewed[name] || c.isHeldBack(Endpoint, name) ||
			c.isSettled(Endpoint, c.want(Endpoint, name))
		// Those of a cluster that the Envoy does not have are never asked for.
		if !settled && c.types[Cluster].rejected[name].Version == "" {
			return false
		}
	}
	return true
}

// isRouted tells whether the Envoy has the target's routes, and the session policies that travel with them. Those of listeners
// that it has rejected are never asked for.
func (c *client) isRouted() bool {
	has := c.hasAll
	if c.hasRejected(Listener) {
		has = c.hasAsked
	}
	return has(Routes) && !c.hasRejected(Routes)
}

// isHeldBack tells whether endpoints stay what the Envoy came with, until it knows by its session policies whose their addresses
// are: while it was away one may have passed to another pod, and be an endpoint again for those who know.
func (c *client) isHeldBack(t Type, name string) bool {
	return t == Endpoint && c.returned && c.types[Endpoint].has[name] != ""
}

// isClean tells whether the Envoy is known to have all that it ought to of a type, so that thousands of names need not be
// looked at.
func (c *client) isClean(t Type) bool {
	k := &c.types[t]
	return k.clean && !k.moving && k.cleanAt == c.target.sums[t] && (t != Endpoint || k.cleanAt == c.latest.sums[t] && c.isTold())
}

// isTold tells whether the Envoy knows of all addresses whose they are, so that endpoints are what they are for all.
func (c *client) isTold() bool { return c.latest.unsettled <= c.routed }

// noteClean notes that nothing of a type is new, if the Envoy has all of it.
func (c *client) noteClean(t Type) {
	k := &c.types[t]
	if len(k.rejected) == 0 && (t != Endpoint || !c.returned && c.isTold() && c.latest.sums[t] == c.target.sums[t]) &&
		(t != Routes || len(c.types[Cluster].rejected) == 0) && c.hasAll(t) {
		k.clean, k.cleanAt, k.moving = true, c.target.sums[t], false
	}
}

func (c *client) hasRejected(t Type) bool {
	if len(c.types[t].rejected) == 0 && (t != Routes || len(c.types[Cluster].rejected) == 0) {
		return false
	}
	for name := range c.target.resources[t] {
		r := c.want(t, name)
		if c.types[t].rejected[name].Version == r.Version || c.isWithheld(t, r) {
			return true
		}
	}
	return false
}

// isFree tells whether the target is done with: as a whole, or as far as the Envoy takes it.
func (c *client) isFree(now time.Time) bool {
	if c.live == c.target {
		return true
	}
	for t := range typeCount {
		if t != Endpoint && c.types[t].pending != nil {
			return false
		}
	}
	rejected := false
	for t := range typeCount {
		rejected = rejected || c.hasRejected(t)
	}
	return rejected && c.reached >= stageListeners || c.isFilterRefused() || now.Sub(c.begun) >= c.deadline
}

// isWaiting tells whether the Envoy owes an answer.
func (c *client) isWaiting() bool {
	return slices.ContainsFunc(c.types[:], func(k clientType) bool { return k.pending != nil })
}
