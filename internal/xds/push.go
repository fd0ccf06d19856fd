package xds

import (
	"cmp"
	"iter"
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

// push makes the message with what is new of a type, nil if there is nothing, or an answer is due.
func (c *client) push(t Type, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if !k.asked || k.pending != nil {
		return nil
	}
	var changed []*Resource
	var absent []string
	if !c.isClean(t) {
		changed, absent = c.findNew(t)
	}
	if len(changed) == 0 {
		k.limit = 0
	}
	if len(changed)+len(absent) == 0 && !c.isClean(t) {
		c.noteClean(t)
	}
	slices.SortFunc(changed, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
	if k.limit > 0 && len(changed) > k.limit {
		changed = changed[:k.limit]
	}
	return c.send(t, changed, absent, now)
}

// findNew finds what the Envoy asked for and has not as it should be, and the names that lead to nothing, which are told once.
func (c *client) findNew(t Type) (changed []*Resource, absent []string) {
	k := &c.types[t]
	note := func(name string) {
		if r := c.want(t, name); r != nil && !c.isSettled(t, r) && !c.isHeldBack(t, name) {
			changed = append(changed, r)
		} else if r == nil && k.has[name] == "" && !k.absent[name] {
			k.absent[name] = true
			absent = append(absent, name)
		}
	}
	if names, known := c.findOpen(t); known {
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if k.wildcard && c.target.resources[t][name] != nil || k.names[name] {
				note(name)
			}
		}
		return changed, absent
	}
	for name := range c.listAsked(t) {
		note(name)
	}
	return changed, absent
}

// listAsked gives each name that the Envoy asked for once: its own, and with a wildcard all that there are.
func (c *client) listAsked(t Type) iter.Seq[string] {
	k := &c.types[t]
	return func(yield func(string) bool) {
		if k.wildcard {
			for name := range c.target.resources[t] {
				if !yield(name) {
					return
				}
			}
		}
		for name := range k.names {
			if (!k.wildcard || c.target.resources[t][name] == nil) && !yield(name) {
				return
			}
		}
	}
}

// pushRemovals makes the message that takes away what the target does not have; nil if there is nothing.
func (c *client) pushRemovals(t Type, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if !k.wildcard || k.pending != nil || !k.asked || c.isClean(t) && len(k.has) == len(c.target.resources[t]) {
		return nil // the last: it has all that there is, and so nothing else
	}
	var gone []string
	for name := range k.has {
		if c.target.resources[t][name] == nil && (t != Listener || c.ready == nil || name != c.ready.Name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return c.send(t, nil, gone, now)
}

func (c *client) send(t Type, changed []*Resource, removed []string, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if len(changed)+len(removed) == 0 && (k.greeted || !k.wildcard || len(k.has) > 0) {
		return nil
	}
	k.greeted, k.moving, k.movingTo = true, true, c.target.sums[t]
	c.counter++
	since := c.target.Since
	if t == Endpoint {
		since = c.latest.Since
	}
	p := &push{nonce: strconv.Itoa(c.counter), sent: now, resources: changed, removed: removed, since: since}
	k.pending = p
	message := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: c.target.Generation, TypeUrl: t.URL(), Nonce: p.nonce, RemovedResources: removed,
	}
	for _, r := range changed {
		message.Resources = append(message.Resources, &discoveryv3.Resource{Name: r.Name, Version: r.Version, Resource: r.body(k.refused)})
	}
	c.observe.sent(t, len(changed), len(removed))
	return message
}
