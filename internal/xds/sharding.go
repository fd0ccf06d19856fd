package xds

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// An Envoy that loads a small module finds its routes by shard: its listeners have another form then, and scoped routes
// take the place of tables of whole sites. Whether it does shows in a listener that takes no connections, the trial. An
// Envoy that serves gets it alone, before its listeners change. One that has no listeners gets it with them: those that
// have shards, if it is to be supposed that it loads the module, and otherwise those of whole sites, for if it refused
// them it would be ready before it listens. So an Envoy crosses from one to the other when a listener changes, or is
// new, and what its listeners of before ask for stays up to date.

// sharding is how an Envoy finds its routes.
type sharding int

const (
	undecided  sharding = iota // by tables of whole sites until it shows
	supposed                   // that it loads the module
	sharded                    // it does
	notSharded                 // it does not
)

// WholeRoutes begins a [ClientStatus]'s Routes where they are not sharded; the Envoy's words follow.
const WholeRoutes = "whole: "

// form is a resource as this Envoy gets it; nil for one that is for others.
func (c *client) form(t Type, r *Resource) *Resource {
	isSharded := c.sharding == supposed || c.sharding == sharded
	switch {
	case r == nil:
		return nil
	case t == Listener && isSharded && r.Sharded != nil:
		return r.Sharded
	case t == Routes && isSharded && r.Whole && !c.types[Routes].names[r.Name]:
		return nil
	case t == ScopedRoutes && !isSharded && !c.types[ScopedRoutes].wildcard:
		return nil
	}
	return c.types[t].formTable(t, r)
}

// shardTrial is the listener by which it shows; nil where nothing has shards.
func (c *client) shardTrial() *Resource {
	for _, l := range c.target.Resources(Listener) {
		if l.Sharded != nil {
			return l.Trial
		}
	}
	return nil
}

// trySharding sends it to an Envoy that serves, and tells whether it is known, or supposed, how the Envoy finds its
// routes.
func (c *client) trySharding(now time.Time) (tried bool) {
	if c.sharding != undecided {
		return true
	}
	k, trial := &c.types[Listener], c.shardTrial()
	switch {
	case trial == nil:
		return true
	case !k.asked || k.pending != nil:
		return now.Sub(c.begun) >= c.deadline && !c.isWaiting()
	case len(k.has) == 0 && len(k.unsure) == 0:
		if c.supposes {
			c.decide(supposed, "")
		}
		return true
	default:
		c.send(Listener, []*Resource{trial}, nil, now)
		return false
	}
}

// recognizeSharding knows an Envoy that comes back by its listeners: nothing is tried again.
func (c *client) recognizeSharding() {
	has := c.types[Listener].has
	if c.sharding != undecided || len(has) == 0 {
		return
	}
	isRight := func(l *Resource) bool { return l.Sharded != nil && has[l.Name] == l.Sharded.Version }
	if slices.ContainsFunc(c.target.Resources(Listener), isRight) {
		c.decide(sharded, "")
	}
}

// addTrial puts the trial among the first listeners of an Envoy.
func (c *client) addTrial(t Type, changed []*Resource) []*Resource {
	isFirst := len(c.types[t].has) == 0 && len(c.types[t].unsure) == 0
	if t != Listener || c.sharding != supposed && (c.sharding != undecided || !isFirst) {
		return changed
	}
	if trial := c.shardTrial(); trial != nil {
		changed = append(changed, trial)
	}
	return changed
}

// judgeTrial decides by the answer to a message, if there was a trial in it; words are empty for one that is taken. It
// tells whether that is all that there is to an answer: where the trial is refused, so are the listeners that came with
// it in their other form.
func (c *client) judgeTrial(t Type, p *push, words string) (isAll bool) {
	trial := c.shardTrial()
	isIt := func(r *Resource) bool { return trial != nil && r.Name == trial.Name }
	if t != Listener || !slices.ContainsFunc(p.resources, isIt) {
		return false
	}
	_, why, isNamed := strings.Cut(words, trial.Name)
	switch {
	case words == "":
		c.decide(sharded, "")
		return false
	case isNamed || len(p.resources) == 1:
		why, _, _ = strings.Cut(strings.TrimPrefix(why, ": "), "\n")
		c.decide(notSharded, shorten(cmp.Or(why, words)))
	default:
		c.decide(undecided, "") // another one is at fault: it is tried alone
		return false
	}
	for _, r := range p.resources {
		if !isIt(r) {
			c.types[t].unsure[r.Name] = true
		}
	}
	return true
}

// decide has everything looked at again that depends on it.
func (c *client) decide(s sharding, words string) {
	c.sharding, c.unsharded = s, words
	if s == sharded || s == notSharded {
		c.observe.tried(s == sharded)
	}
	for _, t := range []Type{Routes, ScopedRoutes, Listener} {
		for _, r := range c.target.Resources(t) {
			c.dirty.add(t, r.Name)
		}
	}
}

// isAhead tells whether a scope leads to a table that the Envoy does not have yet: it would lead nowhere. The first
// scopes come all at once: Envoy's listeners wait for these, and for the tables that they lead to.
func (c *client) isAhead(t Type, r *Resource) bool {
	return t == ScopedRoutes && r.After != "" && c.types[Routes].has[r.After] == "" && len(c.types[ScopedRoutes].has) > 0
}

// drainTime is for how long listeners that Envoy has been told to drop serve those connections that they have, and a
// little more: it is Envoy's --drain-time-s, of which nobody tells.
const drainTime = 11 * time.Minute

// hasLeft tells whether a scope that the target does not have can go: listeners that drain look for it, and Envoy would
// answer 404.
func (c *client) hasLeft(scope string, now time.Time) bool {
	since, is := c.leaving[scope]
	if !is {
		c.leaving[scope] = now
	}
	return is && now.Sub(since) >= drainTime
}

// describeRoutes says for people how the Envoy finds its routes; nothing before that is known.
func (c *client) describeRoutes() string {
	switch c.sharding {
	case sharded:
		return "sharded"
	case notSharded:
		return WholeRoutes + c.unsharded
	}
	return ""
}
