package xds

import (
	"slices"
	"time"
)

// An Envoy puts a listener into service whose filter it has not taken, and answers 500 there. So one that serves has to
// take a filter that it does not have before its listeners change over to it: it gets the filter's trial first, a
// listener that takes no connections. What comes of that holds up listeners, and the routes for them; the rest goes on.

// tryFilters sends what an Envoy needs for that, and tells whether it has tried all filters that it has to.
func (c *client) tryFilters(now time.Time) (tried bool) {
	listeners := &c.types[Listener]
	tried = true
	for _, f := range c.target.Resources(Filter) {
		if !c.isTrialDue(f) {
			continue
		}
		isRejected := c.isFilterRejected(f)
		tried = tried && !isRejected && c.isOver(now) // it does not even ask
		if listeners.asked && listeners.pending == nil && listeners.has[f.Trial.Name] == "" && !isRejected {
			c.send(Listener, []*Resource{f.Trial}, nil, now)
		}
	}
	return tried
}

// isTrialDue tells whether listeners have to wait for a filter: there are some that do without it, and would not.
func (c *client) isTrialDue(f *Resource) bool {
	listeners, filters := &c.types[Listener], &c.types[Filter]
	if f.Trial == nil || filters.has[f.Name] != "" || len(listeners.has) == 0 || c.hasAll(Listener) {
		return false
	}
	return !filters.names[f.Name] || listeners.knows(f.Trial.Name)
}

// knows tells whether an Envoy has a resource, or is being sent it, or has rejected it.
func (k *clientType) knows(name string) bool {
	isIt := func(r *Resource) bool { return r.Name == name }
	return k.has[name] != "" || k.hasRejected(name) || k.pending != nil && slices.ContainsFunc(k.pending.resources, isIt)
}

func (k *clientType) hasRejected(name string) bool {
	_, is := k.rejected[name]
	return is
}

// isFilterRejected tells whether the Envoy has taken neither a filter nor a version of it before, or not even its
// trial: it may not know such filters.
func (c *client) isFilterRejected(f *Resource) bool {
	return c.types[Filter].hasRejected(f.Name) || c.types[Listener].hasRejected(f.Trial.Name)
}

// isFilterRefused tells whether listeners stay as they are for that.
func (c *client) isFilterRefused() bool {
	isRefused := func(f *Resource) bool { return c.isTrialDue(f) && c.isFilterRejected(f) }
	return slices.ContainsFunc(c.target.Resources(Filter), isRefused)
}

// RetryAfter is after what time a filter or a listener is sent again that an Envoy did not take: the one's file may be
// there by now, and the other's address free.
const RetryAfter = 10 * time.Second

// retryRejected has filters and listeners sent again; what Envoy said of them stays until it says otherwise.
func (c *client) retryRejected(now time.Time) {
	for _, t := range []Type{Filter, Listener} {
		k := &c.types[t]
		for name, r := range k.rejected {
			if r.Version != "" && now.Sub(r.at) >= RetryAfter {
				r.Version = ""
				k.rejected[name] = r
			}
		}
	}
}
