package controller

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// pass is one compilation of an input, and its result.
type pass struct {
	input Input
	now   time.Time
	// update is the follower's last update of it, and result the configuration.
	update *compiler.Update
	result *compiler.Result
	// warnings are the problems that it is the first to find.
	warnings []compiler.Problem
	// ended are the problems of routes whose sessions the pass has ended.
	ended []compiler.Problem
	// repeats says that the input is that of the pass before.
	repeats bool
}

// comeBy has the same input make another pass at a time, or before.
func (p *pass) comeBy(again time.Time) { p.result.Until = sooner(p.result.Until, again) }

// sooner gives the first of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// compile makes a pass of an input, and remembers which hosts terminate, whose addresses are, and which pods Services
// have left. It costs what has changed since the last one.
func (c *Controller) compile(in Input) (*pass, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	defer c.done.Add(1)
	p, r := &pass{input: in, now: time.Now()}, &c.remembered
	err := c.fill(p)
	if c.Compiled != nil {
		c.Compiled(time.Since(p.now), err)
	}
	if err != nil {
		return nil, err
	}
	p.repeats = r.input != nil && r.input.Sources.IsSame(in.Sources)
	r.input = &in
	c.acknowledged.noteCompiled(p.result.Served)
	c.awaitAcknowledged(p)
	if len(r.unusable) > 0 {
		p.comeBy(p.now.Add(probeEvery))
	}
	return p, c.Memory.Draining.Update(p.result.Draining, p.now)
}

// fill compiles a pass.
func (c *Controller) fill(p *pass) (err error) {
	r := &c.remembered
	if r.follower == nil {
		if r.follower, err = compiler.NewFollower(c.options(p.input)); err != nil {
			return err
		}
	}
	if err := c.confirm(); err != nil {
		return err
	}
	if c.Probe {
		err = c.updateProbed(p)
	} else {
		err = c.update(p)
	}
	switch {
	case err != nil:
		return err
	case r.input == nil:
		p.result, err = p.update.Result() // with all that there is to say
	default:
		p.result, err = p.update.Configuration()
	}
	return err
}

// options are those of a compilation, without what is remembered.
func (c *Controller) options(in Input) compiler.Options {
	o, served := c.Options(in), c.Served
	o.Envoy.Served = &served
	o.Holders, o.HoldInvalid = &compiler.Holders{}, !c.Admitted
	o.AssumeAdmitted, o.AllowEmpty = o.AssumeAdmitted || c.Admitted, o.AllowEmpty || c.Admitted
	return o
}

// update passes the input to the follower, and once more if the input moves addresses to other pods.
func (c *Controller) update(p *pass) error {
	if err := c.follow(p, nil); err != nil {
		return err
	}
	moved := c.Memory.Owners.Update(p.update.OtherPods, p.update.Whole, p.now)
	if len(moved) == 0 {
		return c.Memory.Selected.Update(p.update.Selection)
	}
	c.remembered.unserved = true
	err := c.keeping.keep(c.Memory.Owners, c.Server)
	if err = errors.Join(err, c.Memory.Selected.Update(p.update.Selection)); err != nil {
		return err
	}
	return c.follow(p, moved)
}

// follow passes the input to the follower, with what is remembered. moved are the addresses that have passed to other
// pods.
func (c *Controller) follow(p *pass, moved []compiler.HostKey) (err error) {
	changes := compiler.Changes{
		Keys: p.input.Keys, Scopes: p.input.Scopes, Time: p.now, Moved: moved, Unusable: c.remembered.unusable,
		Nodes: p.input.Nodes, Files: p.listFiles,
	}
	c.Memory.Recall(&changes)
	r := &c.remembered
	if !reflect.DeepEqual(r.ring, p.input.Ring) {
		changes.Retired = p.retired(r.ring)
	}
	changes.Set, changes.Removed = read.Diff(r.given, p.input.Sources)
	r.given = p.input.Sources
	if p.update, err = r.follower.Apply(changes); err != nil {
		return err
	}
	r.ring = p.input.Ring
	if len(p.update.Ended)+len(r.ended) > 0 {
		c.noteEnded(p)
	}
	p.warnings = append(p.warnings, p.update.NewWarnings...)
	r.changes = r.changes || p.update.OtherStatuses
	return nil
}

// listFiles names the sources, in their order.
func (p *pass) listFiles() (names []string) {
	for s := range p.input.Sources.All() {
		names = append(names, s.Name)
	}
	return names
}

// Addresses that have passed to other pods are acknowledged once all Envoys know it. The controller checks soon, then
// less and less often: nothing but forgetting the difference is left to do then.
const (
	confirmSoon = 100 * time.Millisecond
	confirmLate = time.Minute
)

// confirm forgets which addresses are not acknowledged, if all Envoys that are connected have the session policies that
// they are served last.
func (c *Controller) confirm() error {
	isBehind := func(s xds.ClientStatus) bool { return !c.Server.HasLatestRoutes(s) }
	r := &c.remembered
	if r.unacknowledged.IsZero() || r.unserved || !c.keeping.isDone() ||
		slices.ContainsFunc(c.Server.Clients(), isBehind) {
		return nil
	}
	_, err := c.Memory.Owners.Confirm()
	return err
}

// awaitAcknowledged has another pass made soon if there are addresses that are not acknowledged.
func (c *Controller) awaitAcknowledged(p *pass) {
	r := &c.remembered
	if !p.result.Unacknowledged || !c.Memory.Owners.IsPending() {
		r.unacknowledged = time.Time{}
		return
	}
	if r.unacknowledged.IsZero() {
		r.unacknowledged = p.now
	}
	p.comeBy(p.now.Add(min(max(p.now.Sub(r.unacknowledged), confirmSoon), confirmLate)))
}
