package controller

import (
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// statuses is what statuses depend on besides what a follower decides.
type statuses struct {
	served compiler.Served // when they were asked for last
	// until is when the statuses of objects become others by time alone, and graceEnds when those of a Gateway without an
	// Envoy do; due tells when that is so.
	until     map[object.Ref]time.Time
	graceEnds time.Time
	due       *time.Timer
}

// Statuses computes desired statuses by the last decisions: those that have changed since the last call and those of
// some objects, or all; nothing if nothing was decided. current gives the statuses that objects have. A change waits
// only while the inputs of statuses are gathered, and not for their computation.
func (c *Controller) Statuses(
	current func(object.Ref) json.RawMessage, some []object.Ref, all bool,
) (*compiler.CheckResult, error) {
	c.checking.Lock()
	defer c.checking.Unlock()
	defer c.done.Add(1)
	o := c.options(Input{})
	o.Time, o.CurrentStatus = time.Now(), current
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
	served.Ended = c.Ended()
	c.rejected.Store(len(served.Rejected) > 0)
	decided, sources := c.recall(&o, some, all)
	checked, err := &compiler.CheckResult{}, error(nil)
	switch {
	case decided != nil:
		checked = decided.Statuses(o)
	case sources != nil: // the last changes came to nothing
		checked, err = compiler.Check(sources, o)
	}
	if err == nil {
		c.statuses.note(checked)
	}
	c.statuses.await(o.Time, c.Changed)
	return checked, err
}

// listOther lists the objects of which something else is known now than the last time.
func (s *statuses) listOther(now compiler.Served, at time.Time) (others []object.Ref) {
	of := func(kind string) func(string) {
		return func(key string) { others = append(others, object.ParseKey(kind, key)) }
	}
	was := s.served
	visitOther(was.Rejected, now.Rejected, of(object.KindGateway))
	visitOther(was.Proxies, now.Proxies, of(object.KindGateway))
	visitOther(was.Unacknowledged, now.Unacknowledged, of(object.KindGateway))
	visitOther(was.ClassParameters, now.ClassParameters, of(object.KindGatewayClass))
	visitOther(was.Ended, now.Ended, func(ref object.Ref) { others = append(others, ref) })
	for ref, until := range s.until {
		if !until.After(at) {
			others = append(others, ref)
		}
	}
	s.served = now
	return others
}

// visitOther visits the keys for which two maps do not have the same.
func visitOther[K comparable, V any](was, now map[K]V, visit func(K)) {
	for key, value := range now {
		if before, had := was[key]; !had || !reflect.DeepEqual(before, value) {
			visit(key)
		}
	}
	for key := range was {
		if _, has := now[key]; !has {
			visit(key)
		}
	}
}

// note notes when statuses become others by time alone.
func (s *statuses) note(checked *compiler.CheckResult) {
	if s.until == nil || checked.All {
		s.until = map[object.Ref]time.Time{}
	}
	for _, ref := range checked.Without {
		delete(s.until, ref)
	}
	for _, o := range checked.Objects {
		if delete(s.until, o.Ref()); !o.Until.IsZero() {
			s.until[o.Ref()] = o.Until
		}
	}
}

// await makes ask be called when the first of them does after a time.
func (s *statuses) await(at time.Time, ask func()) {
	if s.due != nil {
		s.due.Stop()
	}
	next := s.graceEnds
	for _, until := range s.until {
		if until.After(at) { // what is past stays where a check fails
			next = sooner(next, until)
		}
	}
	if !next.IsZero() {
		s.due = time.AfterFunc(time.Until(next), ask)
	}
}

// recall puts what is remembered into options, as it is now. It gives what was decided of some objects, and of those of
// which something else is known than the last time, or the sources that it was decided about where later changes came
// to nothing.
func (c *Controller) recall(o *compiler.Options, some []object.Ref, all bool) (*compiler.Decided, []compiler.Source) {
	c.lock.Lock()
	defer c.lock.Unlock()
	r, served := &c.remembered, o.Envoy.Served
	// Under the lock, so that no Gateway is decided about meanwhile.
	served.Unacknowledged, c.statuses.graceEnds = c.unacknowledged(o.Time)
	some = append(c.statuses.listOther(*served, o.Time), some...)
	if r.input == nil {
		return nil, nil
	}
	if decided := r.follower.TakeDecided(some, all); decided != nil {
		return decided, nil
	}
	served.Draining, served.Owners = c.Memory.Draining.Since, maps.Clone(c.Memory.Owners.Of)
	served.Selection = c.Memory.Selected.Now
	served.Nodes, o.Holders = r.input.Nodes, r.follower.Holders()
	return nil, r.input.Sources.Slice()
}

// Done counts the compilations and checks so far.
func (c *Controller) Done() int64 { return c.done.Load() }

// Answered says that an Envoy has taken a whole change, or has rejected some of it. Statuses depend only on rejections.
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
