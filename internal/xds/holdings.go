package xds

import (
	"slices"
	"time"
)

// findResource gives the resource of a name that the Envoy ought to have in the end, and want what it ought to have
// now; nil is nothing.
func (c *client) findResource(t Type, name string) *Resource {
	if t == Endpoint {
		if latest := c.latest.findResource(t, name); latest != nil {
			return latest
		}
	}
	return c.form(t, c.target.findResource(t, name))
}

func (c *client) want(t Type, name string) *Resource {
	return c.findResource(t, name).knownBy(c.knows())
}

// knows is the number of the last snapshot whose moved addresses the Envoy may have.
func (c *client) knows() uint64 { return min(c.routed, c.kept) }

// isClean tells whether there is nothing to do about a name, now and later, of which there is a resource in the end.
func (c *client) isClean(t Type, name string, r *Resource) bool {
	k := &c.types[t]
	switch {
	case r != nil:
		return k.isAt(name, r.Version) && r.last <= c.knows()
	case k.has[name] == "" && !k.unsure[name]:
		return !k.names[name] // who asks is told that there is nothing
	default:
		return !k.wildcard // it is taken away, where the Envoy does not drop it itself
	}
}

// isAcknowledged tells whether the Envoy has what it ought to, or has rejected that.
func (c *client) isAcknowledged(t Type, r *Resource) bool {
	k := &c.types[t]
	return k.isAt(r.Name, r.Version) || k.rejected[r.Name].Version == r.Version || c.isWithheld(t, r) || c.isEarly(t, r)
}

// isAt tells whether the Envoy has a version, and cannot have taken another one of a message that it rejected.
func (k *clientType) isAt(name, version string) bool {
	return k.has[name] == version && !k.unsure[name]
}

// isWithheld tells whether routes lead to a cluster, or a scope to a table, that the Envoy has rejected, and has no
// older one of: what it has of the routes goes on.
func (c *client) isWithheld(t Type, r *Resource) bool {
	if c.isAhead(t, r) && c.lacksTable(r.After) {
		return true
	}
	if t != Routes && t != ScopedRoutes || len(c.types[Cluster].rejected) == 0 || c.types[t].has[r.Name] == "" {
		return false
	}
	return slices.ContainsFunc(r.Needs, func(name string) bool {
		return c.types[Cluster].rejected[name].Version != "" && c.types[Cluster].has[name] == ""
	})
}

// lacksTable tells whether the Envoy has rejected what a table should be, or is not sent it.
func (c *client) lacksTable(name string) bool {
	r := c.want(Routes, name)
	return c.types[Routes].hasRejected(name) || r != nil && c.isWithheld(Routes, r)
}

// hasAll tells whether the Envoy has acknowledged or refused everything of types; hasAsked leaves out what the Envoy
// has not asked for.
func (c *client) hasAll(types ...Type) bool { return c.has(types, false) }

func (c *client) hasAsked(types ...Type) bool { return c.has(types, true) }

// hasReachable leaves that out if there are listeners that the Envoy has rejected: what these lead to is never asked
// for.
func (c *client) hasReachable(types ...Type) bool { return c.has(types, c.hasRejected(Listener)) }

func (c *client) has(types []Type, asked bool) bool {
	for _, t := range types {
		if t == ScopedRoutes && !c.needsScopes() {
			continue
		}
		for name := range c.dirty[t] {
			if r := c.want(t, name); r != nil && (!asked || c.isAsked(t, name)) && !c.isAcknowledged(t, r) {
				return false
			}
		}
	}
	return true
}

// isAsked tells whether the Envoy asks for what there is of a name, and something of it looks at that.
func (c *client) isAsked(t Type, name string) bool {
	k := &c.types[t]
	return (k.wildcard || k.names[name]) && (t != ScopedRoutes || c.needsScopes())
}

// hasEndpoints tells whether every cluster has endpoints that are as new as the target: those that come meanwhile are
// not waited for, nor those of a cluster that the Envoy does not have, which are never asked for.
func (c *client) hasEndpoints() bool {
	k := &c.types[Endpoint]
	for name := range c.dirty[Endpoint] {
		isNew := k.has[name] != "" && c.renewed[name]
		if c.target.findResource(Endpoint, name) != nil && !isNew && !c.isHeldBack(Endpoint, name) &&
			!c.isAcknowledged(Endpoint, c.want(Endpoint, name)) && c.types[Cluster].rejected[name].Version == "" {
			return false
		}
	}
	return true
}

// isRouted tells whether the Envoy has the target's routes, and the session policies that travel with them.
func (c *client) isRouted() bool {
	return c.hasReachable(Routes, ScopedRoutes) && !c.hasRejected(Routes) && !c.hasRejected(ScopedRoutes)
}

// isHeldBack tells whether endpoints stay what the Envoy came with, until it knows by its session policies whose their
// addresses are: while it was away one may have passed to another pod, and be an endpoint again for those who know.
func (c *client) isHeldBack(t Type, name string) bool {
	return t == Endpoint && c.returned && c.types[Endpoint].has[name] != ""
}

// hasRejected tells whether there is something of a type that the Envoy has not taken, or is not sent for that.
func (c *client) hasRejected(t Type) bool {
	for _, s := range c.types[t].searches {
		if len(s.refused) > 0 {
			return true
		}
	}
	if len(c.types[t].rejected) == 0 && !c.withholds(t) {
		return false
	}
	for name := range c.dirty[t] {
		r := c.want(t, name)
		if r != nil && c.target.findResource(t, name) != nil &&
			(c.types[t].rejected[name].Version == r.Version || c.isWithheld(t, r)) {
			return true
		}
	}
	return false
}

// withholds tells whether there may be something of a type that is not sent for what was rejected of another.
func (c *client) withholds(t Type) bool {
	return (t == Routes || t == ScopedRoutes) && len(c.types[Cluster].rejected) > 0 ||
		t == ScopedRoutes && len(c.types[Routes].rejected) > 0
}

// isFree tells whether the target is done with: as a whole, or as far as the Envoy takes it.
func (c *client) isFree(now time.Time) bool {
	if c.live == c.target {
		return true
	}
	rejected := false
	for t := range typeCount {
		if t != Endpoint && c.types[t].pending != nil {
			return false
		}
		rejected = rejected || c.hasRejected(t)
	}
	return rejected && c.reached >= stageListeners || c.isFilterRefused() || now.Sub(c.begun) >= c.deadline
}

// isWaiting tells whether the Envoy owes an answer.
func (c *client) isWaiting() bool {
	return slices.ContainsFunc(c.types[:], func(k clientType) bool { return k.pending != nil })
}
