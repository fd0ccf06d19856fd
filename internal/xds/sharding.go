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
	case t == Routes && (isSharded && r.Whole || !isSharded && isOfScopes(r.Name)) && !c.types[Routes].names[r.Name]:
		return nil // what no listener of such an Envoy looks for
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
		return c.isOver(now)
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
	isRight := false
	for name, version := range has {
		if c.isSharded(name, version) {
			c.scoped[name] = !strings.HasSuffix(version, early)
			isRight = true
		}
	}
	if isRight {
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
	if t != Listener {
		return false
	}
	trial := c.shardTrial()
	isIt := func(r *Resource) bool { return trial != nil && r.Name == trial.Name }
	if !slices.ContainsFunc(p.resources, isIt) {
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

// isAhead tells whether a scope leads to a table that the Envoy does not have yet as it should be: it would lead
// nowhere, or to what has been left there. The first scopes come all at once: Envoy's listeners wait for these, and for
// the tables that they lead to. A table that no listener may look for is not waited for.
func (c *client) isAhead(t Type, r *Resource) bool {
	if t != ScopedRoutes || r.After == "" || c.firstScopes || c.hasTable(r.After) != nil {
		return false
	}
	return c.isScoped() || c.hasSharded() || c.hasTables()
}

// hasTable is a table that the Envoy has as it should be; nil for another one.
func (c *client) hasTable(name string) *Resource {
	if r := c.want(Routes, name); r != nil && c.types[Routes].isAt(name, r.Version) {
		return r
	}
	return nil
}

// hasSharded tells whether the Envoy came with a listener of the target that looks for scopes.
func (c *client) hasSharded() bool {
	for name := range c.scoped {
		if c.isSharded(name, c.types[Listener].has[name]) {
			return true
		}
	}
	return false
}

// hasTables tells whether the Envoy asks for a table to which only scopes lead.
func (c *client) hasTables() bool {
	for name := range c.types[Routes].names {
		if isOfScopes(name) {
			return true
		}
	}
	return false
}

// With the last listener that looks for scopes Envoy drops all scopes, once that one has drained, and when another one
// comes it neither says so nor asks for them again: a watch of nothing is to it one of all. So that one has them all
// sent again. Until it has them, and those are gone that it need not have, its version ends in early: what an Envoy
// that comes back says of its scopes is what its protocol was ever sent, and no listener may have seen some of them.
const early = "+"

// markEarly marks listeners that will look for scopes where no other does, or where some are not known to be seen.
func (c *client) markEarly(t Type, changed []*Resource) []*Resource {
	scopes := &c.types[ScopedRoutes]
	if t != Listener || !scopes.asked || c.isScoped() && len(scopes.unsure) == 0 {
		return changed
	}
	for i, r := range changed {
		if version := r.Version + early; c.isSharded(r.Name, r.Version) && c.types[Listener].has[r.Name] != version {
			changed[i] = &Resource{Name: r.Name, Version: version, url: r.url, content: r.content}
		}
	}
	return changed
}

// isEarly tells whether the Envoy has a listener with that mark, and with good reason.
func (c *client) isEarly(t Type, r *Resource) bool {
	return t == Listener && c.types[t].isAt(r.Name, r.Version+early) && len(c.types[ScopedRoutes].unsure) > 0
}

// noteScoped notes which listeners look for scopes.
func (c *client) noteScoped(p *push) {
	before := c.isScoped()
	for _, name := range p.removed {
		delete(c.scoped, name)
	}
	for _, r := range p.resources {
		if delete(c.scoped, r.Name); c.isSharded(r.Name, r.Version) {
			c.scoped[r.Name] = true
		}
	}
	if !before && c.isScoped() {
		c.distrustScopes()
		for _, r := range c.target.Resources(ScopedRoutes) {
			c.forget(ScopedRoutes, r.Name)
		}
	}
}

// distrustScopes notes that no listener may have seen the scopes that the Envoy has.
func (c *client) distrustScopes() {
	c.firstScopes = true
	for name := range c.types[ScopedRoutes].has {
		c.types[ScopedRoutes].unsure[name] = true
	}
}

// isSharded tells whether a version of a listener is the target's in the form that looks for scopes.
func (c *client) isSharded(name, version string) bool {
	l := c.target.findResource(Listener, name)
	return l != nil && l.Sharded != nil && l.Sharded.Version == strings.TrimSuffix(version, early)
}

// isScoped tells whether a listener is known to look for scopes.
func (c *client) isScoped() bool {
	for _, is := range c.scoped {
		if is {
			return true
		}
	}
	return false
}

// needsScopes tells whether a listener may look for scopes. Before the first are sent, whoever asks for them does.
func (c *client) needsScopes() bool { return len(c.scoped) > 0 || !c.types[ScopedRoutes].greeted }

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
