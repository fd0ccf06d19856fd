package controller

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// publish gives the server the result of a pass, for a change that was seen at a time. It returns a line about what is
// different; empty for nothing. It does not wait for Envoys.
func (c *Controller) publish(since time.Time, p *pass) (string, error) {
	c.lock.Lock()
	r, keys := &c.remembered, p.input.Fingerprints
	changes, otherKeys := r.changes, keys.Ring != r.keys.Ring
	r.changes, r.keys = false, keys
	changed, different := c.serve(since, p)
	err := c.Memory.Owners.Keep(nil)
	c.lock.Unlock()
	if otherKeys {
		message.Print(c.Stderr, keys.String())
	}
	if changes {
		c.Changed()
	}
	switch {
	case changed == 0 && p.repeats: // nobody has changed anything
		return "", err
	case c.Served.Together:
		return different, err
	}
	return fmt.Sprintf("served in %d ms: %d of %d Gateways have changed",
		time.Since(since).Milliseconds(), changed, len(p.result.Served)), err
}

// serve gives the server a snapshot for each Gateway. It counts those that change and, where one is for all Gateways,
// says what is different.
func (c *Controller) serve(since time.Time, p *pass) (changed int, different string) {
	r := &c.remembered
	r.unused, r.unserved, different = p.result.LongestUnused, false, nothingDifferent
	now := make(map[string]published, len(p.result.Served))
	for _, d := range p.result.Served {
		last, known := r.published[d.Gateway]
		if known && last.of == d {
			now[d.Gateway] = last
			continue
		}
		next := last.follow(since, d)
		now[d.Gateway] = next
		if !known || last.snapshot.Generation != next.snapshot.Generation {
			changed++
			if known && c.Served.Together {
				different = describeChanges(last.of, d)
			}
			if c.Published != nil {
				c.Published(d.Gateway, since, next.snapshot.Generation)
			}
		}
		c.Server.Set(d.Gateway, next.snapshot)
	}
	for key := range r.published {
		if _, stays := now[key]; !stays { // there is no such Gateway any more
			c.Server.Remove(key, since)
			changed++
		}
	}
	r.published = now
	return changed, different
}

// Ports returns the ports of the listeners that a Gateway's proxies are served; they are not known before the first
// compilation.
func (c *Controller) Ports(gateway string) (all []proxies.Port, known bool) {
	c.lock.Lock()
	of, known := c.remembered.published[gateway].of, c.remembered.published != nil
	c.lock.Unlock()
	if of == nil {
		return nil, known
	}
	for _, l := range of.Addresses {
		p := proxies.Port{Number: int32(l.At.Port()), Protocol: corev1.ProtocolTCP}
		if l.UDP {
			p.Protocol = corev1.ProtocolUDP
		}
		all = append(all, p)
	}
	return all, true
}

// Fingerprints are those of the keys that Envoys are served; none where they have their own.
func (c *Controller) Fingerprints() keyfile.Fingerprints {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.remembered.keys
}

// LongestUnused is the longest time for which a session of what is served goes on without a request; not known before
// anything is served.
func (c *Controller) LongestUnused() (longest time.Duration, known bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.remembered.unused, c.remembered.published != nil
}
