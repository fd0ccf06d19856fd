package controller

import (
	"maps"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// Check says what statuses the objects of sources shall have, by what is remembered now. No change waits for it. Pause, if there is one, is
// called now and then, and may hold it up.
func (c *Controller) Check(sources []compiler.Source, pause func()) (result *compiler.CheckResult, err error) {
	c.checking.Lock()
	defer c.checking.Unlock()
	defer c.done.Add(1)
	o := c.options(Input{})
	o.Time, o.Pause = time.Now(), pause
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
	c.recall(&o)
	parallel.Sparingly(func() { result, err = compiler.Statuses(sources, o) })
	return result, err
}

// recall puts what is remembered into options, as it is now.
func (c *Controller) recall(o *compiler.Options) {
	c.lock.Lock()
	defer c.lock.Unlock()
	served := o.Envoy.Served
	served.Draining, served.Owners, served.Selection = c.Memory.Draining.Since, maps.Clone(c.Memory.Owners.Of), c.Memory.Selected.Now
	if f := c.remembered.follower; f != nil {
		o.Incumbents = f.Incumbents()
	}
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
