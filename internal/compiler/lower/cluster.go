package lower

import (
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Cluster is a cluster with what its hosts are chosen from, so that they can be chosen again while all else stays as it
// is.
type Cluster struct {
	ir.Cluster
	// Remembered is what there is to remember of its hosts.
	Remembered ir.Remembered
	origins    []origin // of each locality; none if all hosts are given
	namePods   bool     // that proxies are to know
}

// origin is where the hosts of a locality come from.
type origin struct {
	backend *backend.Backend // nil for none
	// drain and keep are as in choice, and others says that every backend which takes new sessions is ready.
	drain, keep *policyconfig.Duration
	others      bool
}

// newOrigin has the hosts of a locality come from a choice.
func newOrigin(c choice, others bool) origin {
	return origin{c.backend, c.drainTimeout, c.keepUnselected, others}
}

// Rechoose returns the cluster with the hosts of some backends, by name, replaced. draining has the time, and owners
// what is remembered of addresses.
func (c *Cluster) Rechoose(backends map[string]*backend.Backend, draining *Draining, owners Owners) Cluster {
	next := *c
	next.origins, next.Localities = slices.Clone(c.origins), slices.Clone(c.Localities)
	for i, o := range next.origins {
		if o.backend != nil && backends[o.backend.Name] != nil {
			next.origins[i].backend = backends[o.backend.Name]
		}
	}
	next.choose(draining, owners)
	return next
}

// choose chooses the hosts.
func (c *Cluster) choose(draining *Draining, owners Owners) {
	chosen := chooser{Draining: draining, Owners: owners, namePods: c.namePods}
	for i, o := range c.origins {
		if o.backend != nil {
			c.Localities[i].Endpoints = chosen.choose(o)
		}
	}
	chosen.Sort()
	c.Remembered = chosen.Remembered
}

// chooser chooses hosts, and notes what there is to remember of them.
type chooser struct {
	*Draining
	Owners
	ir.Remembered
	namePods bool
}

// choose returns the endpoints of a backend that may serve. It leaves out addresses that another pod has, as
// remembered, and endpoints that have drained, or were unselected, for longer than the session's limit: their sessions
// move. Draining endpoints stay while a session that moves might find no host.
func (ch *chooser) choose(o origin) []ir.Endpoint {
	chosen := make([]ir.Endpoint, 0, len(o.backend.Endpoints))
	for _, e := range o.backend.Endpoints {
		if !ch.judgeOwner(&e) || ch.mustLeave(o, &e) {
			continue
		}
		if ch.namePods {
			e.Pod = ir.Pod{Namespace: e.Pod.Namespace, Object: e.Pod.Object}
		} else {
			e.Pod = ir.Pod{} // a pod in the place of another changes no cluster
		}
		chosen = append(chosen, e)
	}
	return chosen
}

// judgeOwner notes the pod of an endpoint, and whether the pod is settled there: the address may have been another
// pod's, whose sessions proxies might send there. It tells whether the pod has the address, as remembered.
func (ch *chooser) judgeOwner(e *ir.Endpoint) (has bool) {
	if ch.Owners == nil || e.Pod.UID == "" {
		return true
	}
	ch.Pods = append(ch.Pods, ir.PodAt{HostKey: e.Key(), UID: e.Pod.UID})
	known, is := ch.Owners[e.Key()]
	has = !is || known.UID == e.Pod.UID
	if e.Unacknowledged = ""; has && known.Reused && !known.Live {
		e.Unacknowledged = known.UID
	}
	ch.Unacknowledged = ch.Unacknowledged || !has || e.Unacknowledged != ""
	return has
}

// mustLeave tells whether sessions leave a host that is unselected, or that terminates, which it notes.
func (ch *chooser) mustLeave(o origin, e *ir.Endpoint) bool {
	switch {
	case e.Unselected != 0:
		return o.keep == nil || ch.isOver(time.Unix(0, e.Unselected), *o.keep)
	case !e.Draining || ch.Draining == nil || e.Host != "":
		return false
	}
	ch.Remembered.Draining = append(ch.Remembered.Draining, e.Key())
	return o.drain != nil && o.others && ch.hasDrained(e.Key(), *o.drain)
}

// hasDrained tells whether a host's time is over.
func (ch *chooser) hasDrained(at ir.HostKey, limit policyconfig.Duration) bool {
	since, known := ch.Since[at]
	if !known {
		since = ch.Now
	}
	return ch.isOver(since, limit)
}

// isOver tells whether a time is over that began then, and notes when it will be.
func (ch *chooser) isOver(since time.Time, limit policyconfig.Duration) bool {
	end := since.Add(time.Duration(limit) * time.Second)
	if !ch.Now.Before(end) {
		return true
	}
	if ch.Until.IsZero() || end.Before(ch.Until) {
		ch.Until = end
	}
	return false
}
