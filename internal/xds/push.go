package xds

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// push is a message to an Envoy.
type push struct {
	nonce     string
	sent      time.Time
	resources []*Resource
	removed   []string
	since     time.Time // when the change was seen
}

// push sends what is new of a type, unless an answer is due.
func (c *client) push(t Type, now time.Time) {
	k := &c.types[t]
	if !k.asked || k.pending != nil {
		return
	}
	changed, absent := c.findNew(t)
	slices.Sort(absent)
	if len(changed) == 0 {
		k.limit = 0
	}
	slices.SortFunc(changed, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
	if k.limit > 0 && len(changed) > k.limit {
		changed = changed[:k.limit]
	}
	changed = c.addTrial(t, c.markEarly(t, changed))
	c.send(t, changed, absent, now)
}

// findNew finds what the Envoy asked for and has not as it should be, and the names that lead to nothing, which are
// told once.
func (c *client) findNew(t Type) (changed []*Resource, absent []string) {
	k := &c.types[t]
	for name := range c.dirty[t] {
		whole := c.findResource(t, name)
		r := whole.knownBy(c.knows())
		switch {
		case c.isClean(t, name, whole):
			delete(c.dirty[t], name)
		case r == nil && k.has[name] == "" && k.names[name]:
			absent = append(absent, name)
			delete(c.dirty[t], name)
		case r != nil && c.isAsked(t, name) && !c.isAcknowledged(t, r) && !c.isHeldBack(t, name) && !c.isAhead(t, r):
			changed = append(changed, r)
		}
	}
	if len(c.dirty[t]) == 0 {
		c.dirty[t] = nil // a map never shrinks
	}
	return changed, absent
}

// pushRemovals takes away what the target does not have, unless an answer is due, and has scopes that stay lead on.
// Listeners of which the Envoy has yet to tell may lead there.
func (c *client) pushRemovals(t Type, now time.Time) {
	k := &c.types[t]
	if !k.asked || k.pending != nil || !k.wildcard || !c.types[Listener].asked && !c.isOver(now) {
		return
	}
	var gone []string
	for name := range c.dirty[t] {
		isGone := (k.has[name] != "" || k.unsure[name]) && c.target.findResource(t, name) == nil
		if isGone && !c.isReady(t, name) && (t != ScopedRoutes || c.hasLeft(name, now)) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var changed []*Resource
	if t == ScopedRoutes && len(c.leaving) > 0 {
		changed = c.leadOn(now)
	}
	c.send(t, changed, gone, now)
}

// renewEndpoints has the endpoints of clusters that Envoy makes again follow them. Such a cluster waits for endpoints
// though Envoy has them, and until it has got them, or after 15 seconds, Envoy answers nothing about clusters.
func (c *client) renewEndpoints(clusters []*Resource) {
	k, had := &c.types[Endpoint], &c.types[Cluster]
	for _, r := range clusters {
		if had.has[r.Name] == "" && !had.unsure[r.Name] {
			continue
		}
		delete(k.has, r.Name)
		delete(k.rejected, r.Name)
		c.dirty.add(Endpoint, r.Name)
		c.madeAgain[r.Name] = true
	}
}

// isOvertaken tells whether there are endpoints whose cluster Envoy makes again since they were sent: they have to come
// again.
func (c *client) isOvertaken(t Type, name string) bool { return t == Endpoint && c.madeAgain[name] }

// send sends a message, unless it has nothing and the Envoy does not wait for one.
func (c *client) send(t Type, changed []*Resource, removed []string, now time.Time) {
	k := &c.types[t]
	if len(changed)+len(removed) == 0 && (k.greeted || !k.wildcard || len(k.has) > 0) {
		return
	}
	k.greeted = true
	if t == Cluster {
		c.renewEndpoints(changed)
	}
	c.counter++
	since := c.target.Since
	if t == Endpoint {
		since, c.madeAgain = c.latest.Since, map[string]bool{}
	}
	k.pending = &push{nonce: strconv.Itoa(c.counter), sent: now, since: since, resources: changed, removed: removed}
	message := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: c.target.Generation, TypeUrl: t.URL(), Nonce: k.pending.nonce, RemovedResources: removed,
	}
	for _, r := range changed {
		resource := &discoveryv3.Resource{Name: r.Name, Version: r.Version, Resource: r.body(k.refused)}
		message.Resources = append(message.Resources, resource)
	}
	c.out = append(c.out, message)
}
