package controller

import (
	"maps"
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
	// since is when a Gateway's listeners were first without an Envoy that has acknowledged them; others are not in it.
	since map[string]time.Time
	// last is when an Envoy was last seen to have them, of Gateways of which one was.
	last map[string]time.Time
	// compiled are the Gateways of the last compilation, which the server may not have yet.
	compiled []string
	// begun is when this process began to look, and due has statuses looked at again when a grace is over.
	begun time.Time
	due   *time.Timer
}

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
	if a.since == nil {
		a.since, a.last, a.begun = map[string]time.Time{}, map[string]time.Time{}, now
	}
	there := map[string]bool{}
	for _, gateway := range append(c.Server.Gateways(), a.compiled...) {
		if there[gateway] {
			continue
		}
		there[gateway] = true
		_, was := a.since[gateway]
		latest := c.Server.Latest(gateway)
		switch has := latest != nil && slices.Contains(held[gateway], latest.Listeners); {
		case has:
			a.last[gateway] = now
			delete(a.since, gateway)
			different = different || was
		case !was:
			a.since[gateway] = now
			different = true
		}
	}
	isGone := func(gateway string, _ time.Time) bool { return !there[gateway] }
	maps.DeleteFunc(a.since, isGone)
	maps.DeleteFunc(a.last, isGone)
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

// unacknowledged lists the Gateways whose listeners no Envoy has acknowledged, and makes statuses be computed again
// when the first grace ends.
func (c *Controller) unacknowledged(now time.Time) map[string]compiler.Unacknowledged {
	c.checkAcknowledged(now)
	a := &c.acknowledged
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.due != nil {
		a.due.Stop()
	}
	all, next := map[string]compiler.Unacknowledged{}, time.Duration(0)
	for gateway, since := range a.since {
		u := compiler.Unacknowledged{Message: a.explain(gateway), Grace: now.Sub(since) < c.Grace}
		if left := c.Grace - now.Sub(since); u.Grace && (next == 0 || left < next) {
			next = left
		}
		all[gateway] = u
	}
	if next > 0 {
		a.due = time.AfterFunc(next, c.Changed)
	}
	return all
}

// explain says since when no Envoy has a Gateway's listeners.
func (a *acknowledged) explain(gateway string) string {
	if last, was := a.last[gateway]; was {
		return "no connected Envoy has acknowledged the listeners as they are now; the last that had was seen at " +
			last.UTC().Format(time.RFC3339)
	}
	return "no Envoy has connected and acknowledged the listeners since limpet began to look, at " +
		a.begun.UTC().Format(time.RFC3339)
}
