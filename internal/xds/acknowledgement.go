package xds

import (
	"math/rand/v2"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Rejection is a resource that an Envoy did not take.
type Rejection struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Words are Envoy's own.
	Words string `json:"message"`

	at time.Time
}

// take takes a request: a subscription, an answer to a push, or both.
func (c *client) take(request *discoveryv3.DeltaDiscoveryRequest, now time.Time) {
	t, known := findType(request.GetTypeUrl())
	if !known {
		return
	}
	k := &c.types[t]
	if !k.asked {
		c.takeFirst(t, request)
	}
	if k.pending != nil && request.GetResponseNonce() == k.pending.nonce {
		c.acknowledge(t, request, now)
	}
	c.subscribe(t, request) // then, for what it subscribes to here it may have dropped from that message
}

// takeFirst takes the first request of a type: what the Envoy comes with.
func (c *client) takeFirst(t Type, request *discoveryv3.DeltaDiscoveryRequest) {
	k := &c.types[t]
	k.asked = true
	k.wildcard = len(request.GetResourceNamesSubscribe()) == 0 && (t == Cluster || t == Listener || t == ScopedRoutes)
	for name, version := range request.GetInitialResourceVersions() {
		k.has[name] = version
		c.dirty.add(t, name)
		c.requested += nameCost + len(name) + len(version)
		if t == Listener && !c.isReady(t, name) {
			c.scoped[name] = false
		}
	}
	if t == Endpoint {
		for name := range c.madeAgain {
			delete(k.has, name)
		}
		c.madeAgain = map[string]bool{}
	}
	if t == ScopedRoutes {
		c.takeScopes()
	}
	if t == Filter && len(c.types[Listener].has) > 0 {
		k.refused = 1 + rand.IntN(mostRefused) //nolint:gosec // it need not be secret
	}
	c.returned = c.returned || t == Endpoint && len(k.has) > 0
}

// takeScopes looks at the scopes that an Envoy says that it has, after its listeners: it asks in the order in which it
// first did.
func (c *client) takeScopes() {
	c.firstScopes = len(c.types[ScopedRoutes].has) == 0
	isTrue := len(c.scoped) > 0
	for _, version := range c.types[Listener].has {
		isTrue = isTrue && !strings.HasSuffix(version, early)
	}
	if !isTrue {
		c.distrustScopes()
	}
}

// subscribe takes names in and out. One that is subscribed to again has been dropped meanwhile.
func (c *client) subscribe(t Type, request *discoveryv3.DeltaDiscoveryRequest) {
	k := &c.types[t]
	for _, name := range request.GetResourceNamesSubscribe() {
		if name == "*" {
			k.wildcard = true
			continue
		}
		if !k.names[name] {
			k.names[name] = true
			c.requested += nameCost + len(name)
		}
		if request.GetInitialResourceVersions()[name] == "" {
			c.forget(t, name)
		}
	}
	for _, name := range request.GetResourceNamesUnsubscribe() {
		if name == "*" {
			k.wildcard = false
			for name := range k.has {
				if !k.names[name] {
					c.forget(t, name)
				}
			}
			continue
		}
		if k.names[name] {
			delete(k.names, name)
			c.requested -= nameCost + len(name)
		} else if k.has[name] == "" {
			c.requested += nameCost // it never asked, as no Envoy does: whoever goes on with that is sent away
			continue
		}
		c.forget(t, name)
	}
}

// forget notes that the Envoy has nothing of a name, or nothing that counts.
func (c *client) forget(t Type, name string) {
	delete(c.types[t].has, name)
	delete(c.types[t].bases, name)
	delete(c.types[t].searches, name)
	delete(c.types[t].rejected, name)
	delete(c.types[t].unsure, name)
	c.dirty.add(t, name)
}

// acknowledge takes the answer to a push.
func (c *client) acknowledge(t Type, request *discoveryv3.DeltaDiscoveryRequest, now time.Time) {
	k := &c.types[t]
	p := k.pending
	k.pending = nil
	if c.judgeTrial(t, p, request.GetErrorDetail().GetMessage()) {
		return
	}
	if request.GetErrorDetail() != nil {
		c.reject(t, p, request.GetErrorDetail().GetMessage(), now)
		return
	}
	k.limit *= 2
	switch t {
	case Endpoint:
		c.noteEndpoints(p, now)
	case Listener:
		c.noteScoped(p)
	case ScopedRoutes:
		c.firstScopes = c.firstScopes && len(p.resources) == 0
	}
	for _, r := range p.resources {
		if (k.wildcard || k.names[r.Name]) && !c.isOvertaken(t, r.Name) {
			k.has[r.Name] = r.Version
			if r.WriteHosts != nil {
				k.noteHosts(r)
			}
		}
		delete(k.rejected, r.Name)
		delete(k.unsure, r.Name)
		c.dirty.add(t, r.Name) // until it is looked at
	}
	for _, name := range p.removed {
		delete(k.has, name)
		delete(k.bases, name)
		delete(k.unsure, name)
	}
}

// noteEndpoints notes which clusters have endpoints that are as new as the target, or newer.
func (c *client) noteEndpoints(p *push, now time.Time) {
	update := false
	for _, r := range p.resources {
		if !p.sent.Before(c.begun) && !c.isOvertaken(Endpoint, r.Name) {
			c.renewed[r.Name] = true
		}
		update = update || c.types[Endpoint].has[r.Name] != ""
	}
	if update && p.since.After(c.connected) {
		c.observe.staged(stageEndpoints, p.since, now.Sub(p.since))
	}
}

// maxText is how much is kept and told of a text that a client has made, in bytes.
const maxText = 4096

// shorten cuts such a text.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// reject notes what an Envoy did not take. Of several resources it may have taken some: they are sent again in halves,
// until the ones at fault are alone. Those are not sent again, but for filters and listeners (trial.go).
func (c *client) reject(t Type, p *push, words string, now time.Time) {
	k, why := &c.types[t], Rejection{Type: t.String(), Words: shorten(words), at: now}
	if len(p.resources) == 1 {
		r := p.resources[0]
		if c.rejectHost(t, r, why) {
			return
		}
		why.Name, why.Version = r.Name, strings.TrimSuffix(r.Version, early)
		if !c.isOvertaken(t, r.Name) {
			k.rejected[r.Name] = why
			k.refused++
		}
	}
	c.observe.rejected(why)
	if len(p.resources) > 1 {
		k.limit = len(p.resources) / 2
		for _, r := range p.resources {
			k.unsure[r.Name] = true
		}
		return
	}
	for _, name := range p.removed { // it has it still; asking again changes nothing
		delete(k.has, name)
		delete(k.unsure, name)
	}
}
