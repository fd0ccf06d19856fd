package controller

import (
	"slices"
	"sync"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// acknowledged knows of each Gateway since when no connected Envoy, of this process or another one, has acknowledged
// its listeners.
type acknowledged struct {
	lock sync.Mutex
	of   map[string]acknowledgement
	// compiled are the Gateways of the last compilation, which the server may not have yet.
	compiled []string
	// begun is when this process began to look.
	begun time.Time
}

// acknowledgement is since when a Gateway's listeners are without an Envoy that has acknowledged them, zero while there
// is one, and when one was last seen, zero for never.
type acknowledgement struct{ without, last time.Time }

// Acknowledged says that Envoys of this process may have acknowledged listeners, or gone.
func (c *Controller) Acknowledged() {
	if c.TellElsewhere != nil {
		c.TellElsewhere()
	}
	c.AcknowledgedElsewhere()
}

// AcknowledgedElsewhere says that Envoys of other processes may have acknowledged listeners. Statuses are written again
// where that changes them.
func (c *Controller) AcknowledgedElsewhere() {
	if c.Notify != nil && c.checkAcknowledged(time.Now()) {
		c.Changed()
	}
}

// checkAcknowledged brings up to date of which Gateways no Envoy has acknowledged the listeners; true if others than
// before.
func (c *Controller) checkAcknowledged(now time.Time) (different bool) {
	held := c.Server.Acknowledged()
	if c.Elsewhere != nil {
		for gateway, listeners := range c.Elsewhere() {
			held[gateway] = append(held[gateway], listeners...)
		}
	}
	a := &c.acknowledged
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.begun.IsZero() {
		a.begun = now
	}
	before := a.of
	a.of = map[string]acknowledgement{}
	for _, gateway := range append(c.Server.Gateways(), a.compiled...) {
		if _, twice := a.of[gateway]; twice {
			continue
		}
		next, latest := before[gateway], c.Server.Latest(gateway)
		if latest != nil && slices.Contains(held[gateway], latest.Listeners) {
			next = acknowledgement{last: now}
		} else if next.without.IsZero() {
			next.without = now
		}
		different = different || !next.without.Equal(before[gateway].without)
		a.of[gateway] = next
	}
	return different
}

// noteCompiled notes the Gateways of a compilation: their statuses may be written before the server has them.
func (a *acknowledged) noteCompiled(all []*envoy.Served) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.compiled = a.compiled[:0]
	for _, of := range all {
		a.compiled = append(a.compiled, of.Gateway)
	}
}

// unacknowledged lists the Gateways whose listeners no Envoy has acknowledged, and gives the time at which the first
// grace ends; zero for none.
func (c *Controller) unacknowledged(now time.Time) (all map[string]compiler.Unacknowledged, ends time.Time) {
	c.checkAcknowledged(now)
	a := &c.acknowledged
	a.lock.Lock()
	defer a.lock.Unlock()
	all = map[string]compiler.Unacknowledged{}
	for gateway, of := range a.of {
		if of.without.IsZero() {
			continue
		}
		end := of.without.Add(c.Grace)
		all[gateway] = compiler.Unacknowledged{Message: a.explain(of), Grace: now.Before(end)}
		if now.Before(end) {
			ends = sooner(ends, end)
		}
	}
	return all, ends
}

// explain says since when no Envoy has a Gateway's listeners.
func (a *acknowledged) explain(of acknowledgement) string {
	if !of.last.IsZero() {
		return "no connected Envoy has acknowledged the listeners as they are now; the last that had was seen at " +
			of.last.UTC().Format(time.RFC3339)
	}
	return "no Envoy has connected and acknowledged the listeners since limpet began to look, at " +
		a.begun.UTC().Format(time.RFC3339)
}
