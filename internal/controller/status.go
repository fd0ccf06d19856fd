package controller

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Statuses says what statuses objects shall have by what was decided last, nothing if nothing was. Current gives those that they have.
// No change waits for it. Pause, if there is one, is called now and then, and may hold it up.
func (c *Controller) Statuses(current func(object.Ref) json.RawMessage, pause func()) (*compiler.CheckResult, error) {
	c.checking.Lock()
	defer c.checking.Unlock()
	defer c.done.Add(1)
	o := c.options(Input{})
	o.Time, o.CurrentStatus, o.Pause = time.Now(), current, pause
	served := o.Envoy.Served
	served.Rejected = map[string]string{}
	for _, client := range c.Server.Clients() {
		for _, r := range client.Rejected {
			served.Rejected[client.Gateway] = r.Type + " " + r.Name + ": " + r.Words
		}
	}
	if c.Proxies != nil {
		served.Proxies, served.ClassParameters = c.Proxies()
	}
	served.Unacknowledged = c.unacknowledged(o.Time)
	c.rejected.Store(len(served.Rejected) > 0)
	decided, sources := c.recall(&o)
	switch {
	case decided != nil:
		return decided.Statuses(o), nil
	case sources == nil:
		return &compiler.CheckResult{}, nil
	default: // they can't be followed
		return compiler.Statuses(sources, o)
	}
}

// recall puts what is remembered into options, as it is now. It gives what was decided last, or the sources that it was decided about
// where these can't be followed.
func (c *Controller) recall(o *compiler.Options) (*compiler.Decided, []compiler.Source) {
	c.lock.Lock()
	defer c.lock.Unlock()
	r, served := &c.remembered, o.Envoy.Served
	if r.input == nil {
		return nil, nil
	}
	if decided := r.follower.Decided(); decided != nil {
		return decided, nil
	}
	served.Draining, served.Owners, served.Selection = c.Memory.Draining.Since, maps.Clone(c.Memory.Owners.Of), c.Memory.Selected.Now
	served.Nodes, o.Incumbents = r.input.Nodes, r.follower.Incumbents()
	return nil, r.input.Sources
}

// Done counts the compilations and checks so far.
func (c *Controller) Done() int64 { return c.done.Load() }

// patience is how long a change counts as on its way after it was seen, if an Envoy does not acknowledge it before.
const patience = 250 * time.Millisecond

// IsBusy tells whether a change is on its way to Envoys.
func (c *Controller) IsBusy() bool {
	return c.compiling.Load() > 0 || c.Server.IsBusy(time.Now().Add(-patience))
}

// Answered says that an Envoy has taken a change as a whole, or rejected something. Statuses depend on what is rejected alone.
func (c *Controller) Answered(rejects bool) {
	if rejects || c.rejected.Load() {
		c.Changed()
	}
}

// Changed says that something has changed that statuses depend on.
func (c *Controller) Changed() {
	if c.Notify != nil {
		c.Notify()
	}
}
