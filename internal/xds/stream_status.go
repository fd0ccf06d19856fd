package xds

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

func formatVersion(node *corev3.Node) string {
	if v := node.GetUserAgentBuildVersion().GetVersion(); v != nil {
		return fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	return ""
}

// publish makes the status that others see, and reports what changed in it.
func (one *stream) publish(now time.Time) {
	c, before := one.client, one.status.Load()
	next := *before
	if c.target != nil {
		next.Target = c.target.Generation
	}
	next.routed, next.listeners = c.routed, c.listListeners(before.listeners)
	next.Stage, next.Late, next.Rejected = c.reached.String(), c.describeLate(now), c.listRejected()
	next.Routes = c.describeRoutes()
	live := c.live != nil && c.live == c.target && len(next.Rejected) == 0
	if live {
		next.Generation = c.live.Generation
	}
	if c.target != nil && c.isFree(c.begun) { // and not because of the time
		next.Done = c.target.Number
	}
	if next.Late != "" && before.Late == "" {
		one.server.options.Log.Late(next)
		one.server.options.Metrics.late.Inc()
	}
	one.status.Store(&next)
	if next.listeners != before.listeners {
		one.server.acknowledged()
	}
	if next.Done != before.Done || live && next.Generation != before.Generation {
		one.server.options.Log.Live(next, now.Sub(c.seen()))
	}
}

// listListeners gives the listeners that the Envoy has acknowledged as a whole, those of before while it has only some.
func (c *client) listListeners(before string) string {
	if c.target != nil && c.hasAll(Listener) && !c.hasRejected(Listener) {
		return c.target.Listeners
	}
	return before
}

// seen is when the client could have begun with its target.
func (c *client) seen() time.Time {
	if c.target.Since.Before(c.connected) {
		return c.connected
	}
	return c.target.Since
}

// describeLate says which pushes are not answered in time.
func (c *client) describeLate(now time.Time) string {
	for t := range typeCount {
		if p := c.types[t].pending; p != nil && now.Sub(p.sent) > c.deadline {
			return fmt.Sprintf("no answer to %s for %v", t, now.Sub(p.sent).Round(time.Second))
		}
	}
	if c.target != nil && c.live != c.target && now.Sub(c.begun) > c.deadline && len(c.listRejected()) == 0 {
		return "does not ask for all of its configuration"
	}
	return ""
}

// listRejected lists what the Envoy has not taken of its target.
func (c *client) listRejected() (all []Rejection) {
	for t := range typeCount {
		for _, name := range slices.Sorted(maps.Keys(c.types[t].rejected)) {
			all = append(all, c.types[t].rejected[name])
		}
		for _, name := range slices.Sorted(maps.Keys(c.types[t].searches)) {
			refused := c.types[t].searches[name].refused
			for _, host := range slices.Sorted(maps.Keys(refused)) {
				all = append(all, refused[host].Rejection)
			}
		}
	}
	return all
}

func (one *stream) tried(loads bool) {
	one.server.lock.Lock()
	defer one.server.lock.Unlock()
	one.server.findGateway(one.gateway()).loadsModule = loads
}

func (one *stream) staged(s stage, since time.Time, took time.Duration) {
	one.server.options.Metrics.stages.WithLabelValues(s.String()).Observe(took.Seconds())
	if tell := one.server.options.Staged; tell != nil {
		tell(*one.status.Load(), s.String(), since, took)
	}
}

func (one *stream) countPush(message *discoveryv3.DeltaDiscoveryResponse) {
	t, _ := findType(message.GetTypeUrl())
	m := one.server.options.Metrics
	m.pushes.WithLabelValues(t.String()).Inc()
	m.resources.WithLabelValues(t.String(), "sent").Add(float64(len(message.GetResources())))
	m.resources.WithLabelValues(t.String(), "removed").Add(float64(len(message.GetRemovedResources())))
}

func (one *stream) rejected(r Rejection) {
	one.server.options.Metrics.rejections.WithLabelValues(r.Type).Inc()
	status := one.status.Load()
	isSame := func(was Rejection) bool { return was.Type == r.Type && was.Name == r.Name && was.Words == r.Words }
	if r.Name != "" && !slices.ContainsFunc(status.Rejected, isSame) {
		one.server.options.Log.Rejected(*status, r)
	}
}
