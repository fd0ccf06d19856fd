package xds

import (
	"maps"
	"math"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// client is what is known of one Envoy on one connection. It is used by one goroutine.
type client struct {
	// deadline is how long an answer may take, or a request that is to be expected.
	deadline time.Duration

	types [typeCount]clientType
	// latest is what the Envoy ought to have, and target what it is being brought to: one is finished before the next.
	latest, target *Snapshot
	begun          time.Time // when the target became that
	// dirty are the names of which the Envoy may not have what it ought to: snapshots, requests and answers fill them, and
	// acknowledgements empty them. Ahead are those of which latest may have something else than target, but for endpoints,
	// which do not wait for that.
	dirty, ahead nameSets
	// live is the last target that the Envoy acknowledged as a whole, and reached the stage of the target that is done.
	live    *Snapshot
	reached stage
	// renewed are the clusters whose endpoints it has acknowledged since the target became that.
	renewed map[string]bool
	// madeAgain are clusters that it makes again since it was sent endpoints: of those that it came with, or answers for,
	// theirs do not count.
	madeAgain map[string]bool
	// returned says that it came with endpoints, of before, and has not taken the target's routes since.
	returned  bool
	connected time.Time
	// routed is the number of the last target whose routes, with their session policies, it has acknowledged.
	routed uint64
	// kept is the number of the last snapshot whose moved addresses it may have, as far as that is up to others.
	kept uint64
	// ready is a listener besides those of snapshots, which is sent when the first target is acknowledged as a whole; nil
	// for none.
	ready *Resource
	// sharding is how it finds its routes, and unsharded why not by shard, in its words.
	sharding  sharding
	unsharded string
	supposes  bool // that it loads the module for that, before it shows
	// scoped are the listeners that look for scopes; false for one that the Envoy came with, which may. FirstScopes says
	// that it has taken none since one began to.
	scoped      map[string]bool
	firstScopes bool
	// leaving are the scopes that the target does not have, since when its listeners have done without them.
	leaving   map[string]time.Time
	requested int // what it said that it has and wants, as that is reckoned
	observe   observer
	counter   int                                   // of messages
	out       []*discoveryv3.DeltaDiscoveryResponse // those that are to be sent now
}

// observer is told what happens, for metrics and logs.
type observer interface {
	// staged says that a stage of a change is done, so long after it was seen then.
	staged(s stage, since time.Time, took time.Duration)
	// rejected says that an Envoy did not take a resource, or several of which one is at fault; without a name then.
	rejected(r Rejection)
	// tried says whether an Envoy loads the module by which routes have shards.
	tried(loads bool)
}

// stage is a part of a change that is acknowledged before the next.
type stage int

const (
	stageBegin stage = iota
	stageClusters
	stageRoutes
	stageListeners
	stageRemovals
	// stageEndpoints is that of changes that go around the others.
	stageEndpoints
)

var stageNames = []string{"begin", "clusters", "routes", "listeners", "removals", "endpoints"}

func (s stage) String() string { return stageNames[s] }

// clientType is what is known of one type of resources.
type clientType struct {
	asked    bool // for anything of the type
	greeted  bool // by an answer to that, which the Envoy waits for even if there is nothing
	wildcard bool
	names    map[string]bool   // those subscribed to, besides the wildcard
	has      map[string]string // versions that the Envoy has acknowledged, or has come with
	pending  *push             // which it has not answered
	rejected map[string]Rejection
	unsure   map[string]bool // names in messages that it rejected, of which it may have taken some
	// bases are the tables with Hosts as the Envoy has acknowledged them, and searches what it did not take of some.
	bases    map[string]*Resource
	searches map[string]*hostSearch
	// refused counts what was rejected; it begins anywhere for an Envoy that may have rejected something before.
	refused int
	// limit is how many resources a push may have, while the one is looked for that made an Envoy reject several.
	limit int
}

func newClient(deadline time.Duration, o observer, now time.Time) *client {
	c := &client{
		deadline: deadline, observe: o, connected: now, kept: math.MaxUint64,
		madeAgain: map[string]bool{}, scoped: map[string]bool{}, firstScopes: true, leaving: map[string]time.Time{},
	}
	for t := range c.types {
		c.types[t] = clientType{
			names: map[string]bool{}, has: map[string]string{}, rejected: map[string]Rejection{}, unsure: map[string]bool{},
			bases: map[string]*Resource{}, searches: map[string]*hostSearch{},
		}
	}
	return c
}

// mostRefused is how many numbers there are to begin with: what an Envoy has refused last on another connection does
// not come again.
const mostRefused = 1 << 30

// see takes a newer snapshot, which may have something else of some names than the one before.
func (c *client) see(latest *Snapshot, changed nameSets) {
	c.latest = latest
	c.dirty.addAll(nameSets{Endpoint: changed[Endpoint]})
	changed[Endpoint] = nil
	c.ahead.addAll(changed)
}

// next says what is to be sent now.
func (c *client) next(now time.Time) (all []*discoveryv3.DeltaDiscoveryResponse) {
	if c.latest == nil {
		return nil
	}
	c.retryRejected(now)
	for done := false; !done; done = c.target == c.latest || !c.isFree(now) {
		if c.target == nil || c.target != c.latest && c.isFree(now) {
			c.begin(now)
		}
		c.pushStages(now)
	}
	c.pushReady(now)
	all, c.out = c.out, nil
	return all
}

// pushReady sends the listener that says that the Envoy is ready. One that comes back has it, or is as it was at first.
func (c *client) pushReady(now time.Time) {
	k := &c.types[Listener]
	if c.ready != nil && c.live != nil && k.wildcard && k.pending == nil && !c.isAcknowledged(Listener, c.ready) {
		c.send(Listener, []*Resource{c.ready}, nil, now)
	}
}

func (c *client) isReady(t Type, name string) bool {
	return t == Listener && c.ready != nil && name == c.ready.Name
}

// begin makes the latest snapshot the target.
func (c *client) begin(now time.Time) {
	c.target, c.begun, c.reached, c.renewed = c.latest, now, stageBegin, map[string]bool{}
	c.dirty.addAll(c.ahead)
	c.ahead = nameSets{}
	maps.DeleteFunc(c.leaving, func(scope string, _ time.Time) bool {
		return c.target.findResource(ScopedRoutes, scope) != nil || c.types[ScopedRoutes].has[scope] == ""
	})
	for t := range typeCount { // what is not wanted any more matters no more
		if len(c.types[t].searches) > 0 {
			c.forgetRefused(t)
		}
		maps.DeleteFunc(c.types[t].rejected, func(name string, was Rejection) bool {
			r := c.want(t, name)
			if c.isReady(t, name) {
				r = c.ready
			}
			return r == nil || r.Version != was.Version
		})
	}
}

// pushStages sends what the stage allows that the target has come to.
func (c *client) pushStages(now time.Time) {
	if (c.returned || c.routed < c.target.Number) && c.isRouted() {
		c.returned, c.routed = false, c.target.Number
	}
	c.returned = c.returned && now.Sub(c.connected) < c.deadline
	c.recognizeSharding()
	for _, t := range []Type{Cluster, Endpoint, Secret, Filter} {
		c.push(t, now)
	}
	if !c.pass(stageClusters, now, c.hasAll(Cluster) && c.hasEndpoints() && c.hasAsked(Filter, Secret)) ||
		!c.tryFilters(now) || !c.trySharding(now) {
		return
	}
	c.push(Routes, now)
	c.push(ScopedRoutes, now)
	if !c.pass(stageRoutes, now, c.hasAsked(Routes, ScopedRoutes)) {
		return
	}
	c.push(Listener, now)
	if c.pass(stageListeners, now, c.hasAll(Listener) && c.hasReachable(Routes, ScopedRoutes, Filter, Secret)) {
		c.removeRest(now)
	}
}

// removeRest takes away what the target does not have: listeners, then what only their routes needed. What is rejected
// may need it still.
func (c *client) removeRest(now time.Time) {
	if slices.ContainsFunc([]Type{Routes, ScopedRoutes, Listener, Filter}, c.hasRejected) {
		return
	}
	for _, t := range []Type{Listener, ScopedRoutes, Cluster} {
		if c.pushRemovals(t, now); c.types[t].pending != nil {
			return
		}
	}
	if c.pass(stageRemovals, now, true) {
		c.live = c.target
	}
}

// isOver tells whether what the Envoy does not ask for has been waited for long enough.
func (c *client) isOver(now time.Time) bool { return now.Sub(c.begun) >= c.deadline && !c.isWaiting() }

// pass tells whether a stage is done, and notes when that was so first. What the Envoy has not even asked for is not
// waited for without end.
func (c *client) pass(s stage, now time.Time, done bool) bool {
	if !done && !c.isOver(now) {
		return false
	}
	if c.reached < s {
		c.reached = s
		if done && c.target.Since.After(c.connected) {
			c.observe.staged(s, c.target.Since, now.Sub(c.target.Since))
		}
	}
	return true
}
