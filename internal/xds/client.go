package xds

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
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
	// live is the last target that the Envoy acknowledged as a whole, and reached the stage of the target that is done.
	live    *Snapshot
	reached stage
	// renewed are the clusters whose endpoints it has acknowledged since the target became that.
	renewed map[string]bool
	// returned says that it came with endpoints, of before, and has not taken the target's routes since.
	returned  bool
	connected time.Time
	// ready is a listener besides those of snapshots, which is sent when the first target is acknowledged as a whole; nil for none.
	ready   *Resource
	counter int
	observe observer
}

// observer is told what happens, for metrics and logs.
type observer interface {
	// staged says that a stage of a change is done, so long after it was seen then.
	staged(s stage, since time.Time, took time.Duration)
	// rejected says that an Envoy did not take a resource, or several of which one is at fault.
	rejected(t Type, names []string, words string)
	// sent says what was sent.
	sent(t Type, resources, removed int)
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
	absent   map[string]bool   // names that it knows to be of nothing
	pending  *push             // which it has not answered
	rejected map[string]Rejection
	// refused counts what was rejected; it begins anywhere for an Envoy that may have rejected something before.
	refused int
	// clean says that the Envoy had all resources of a type when their sum was cleanAt, and that nothing has come from it since but
	// that it has taken what it was sent.
	clean   bool
	cleanAt hashSum
	// moving says that it was sent something since, on its way to what has the sum movingTo.
	moving   bool
	movingTo hashSum
	// limit is how many resources a push may have, while the one is looked for that made an Envoy reject several.
	limit int
}

// push is a message to an Envoy.
type push struct {
	nonce     string
	sent      time.Time
	resources []*Resource
	removed   []string
	since     time.Time // when the change was seen
}

// Rejection is a resource that an Envoy did not take.
type Rejection struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Words are Envoy's own.
	Words string `json:"message"`

	at time.Time
}

func newClient(deadline time.Duration, o observer, now time.Time) *client {
	c := &client{deadline: deadline, observe: o, connected: now}
	for t := range c.types {
		c.types[t] = clientType{
			names: map[string]bool{}, has: map[string]string{}, absent: map[string]bool{}, rejected: map[string]Rejection{},
		}
	}
	return c
}

// mostRefused is how many numbers there are to begin with.
const mostRefused = 1 << 10

// take takes a request: a subscription, an answer to a push, or both.
func (c *client) take(request *discoveryv3.DeltaDiscoveryRequest, now time.Time) {
	t, known := findType(request.GetTypeUrl())
	if !known {
		return
	}
	k := &c.types[t]
	k.clean = k.clean && k.isTaken(request)
	if !k.asked {
		k.asked = true
		k.wildcard = len(request.GetResourceNamesSubscribe()) == 0 && (t == Cluster || t == Listener)
		maps.Copy(k.has, request.GetInitialResourceVersions())
		if t == Filter && len(c.types[Listener].has) > 0 {
			k.refused = 1 + rand.IntN(mostRefused) //nolint:gosec // it need not be secret
		}
		c.returned = c.returned || t == Endpoint && len(k.has) > 0
	}
	k.subscribe(request)
	if k.pending != nil && request.GetResponseNonce() == k.pending.nonce {
		c.settle(t, request, now)
	}
}

// isTaken tells whether a request says that an Envoy has taken the last push, and nothing else.
func (k *clientType) isTaken(request *discoveryv3.DeltaDiscoveryRequest) bool {
	return k.pending != nil && request.GetResponseNonce() == k.pending.nonce && request.GetErrorDetail() == nil &&
		len(request.GetResourceNamesSubscribe())+len(request.GetResourceNamesUnsubscribe()) == 0
}

// subscribe takes names in and out. One that is subscribed to again has been dropped meanwhile.
func (k *clientType) subscribe(request *discoveryv3.DeltaDiscoveryRequest) {
	for _, name := range request.GetResourceNamesSubscribe() {
		if name == "*" {
			k.wildcard = true
			continue
		}
		k.names[name] = true
		if request.GetInitialResourceVersions()[name] == "" {
			delete(k.has, name)
			delete(k.absent, name)
			delete(k.rejected, name)
		}
	}
	for _, name := range request.GetResourceNamesUnsubscribe() {
		if name == "*" {
			k.wildcard = false
			continue
		}
		delete(k.names, name)
		delete(k.has, name)
		delete(k.absent, name)
		delete(k.rejected, name)
	}
}

// settle takes the answer to a push.
func (c *client) settle(t Type, request *discoveryv3.DeltaDiscoveryRequest, now time.Time) {
	k := &c.types[t]
	p := k.pending
	k.pending = nil
	if request.GetErrorDetail() != nil {
		c.reject(t, p, request.GetErrorDetail().GetMessage(), now)
		return
	}
	k.limit *= 2
	if t == Endpoint {
		c.noteEndpoints(p, now)
	}
	for _, r := range p.resources {
		if t == Cluster && k.has[r.Name] != "" {
			c.types[Endpoint].clean = false
			delete(c.types[Endpoint].has, r.Name) // a cluster that is made anew waits for its endpoints again
		}
		if k.wildcard || k.names[r.Name] {
			k.has[r.Name] = r.Version
		}
		delete(k.rejected, r.Name)
		delete(k.absent, r.Name)
	}
	for _, name := range p.removed {
		delete(k.has, name)
	}
}

// noteEndpoints notes which clusters have endpoints that are as new as the target, or newer.
func (c *client) noteEndpoints(p *push, now time.Time) {
	update := false
	for _, r := range p.resources {
		if !p.sent.Before(c.begun) {
			c.renewed[r.Name] = true
		}
		update = update || c.types[Endpoint].has[r.Name] != ""
	}
	if update && p.since.After(c.connected) {
		c.observe.staged(stageEndpoints, p.since, now.Sub(p.since))
	}
}

// reject notes what an Envoy did not take. Of several resources it may have taken some: they are sent again in halves,
// until the ones at fault are alone. Those are not sent again, but for filters (trial.go).
func (c *client) reject(t Type, p *push, words string, now time.Time) {
	k := &c.types[t]
	var names []string
	for _, r := range p.resources {
		names = append(names, r.Name)
	}
	c.observe.rejected(t, names, words)
	if len(p.resources) > 1 {
		k.limit = len(p.resources) / 2
		return
	}
	for _, r := range p.resources {
		k.rejected[r.Name] = Rejection{Type: t.String(), Name: r.Name, Version: r.Version, Words: words, at: now}
		k.refused++
	}
	for _, name := range p.removed { // it has it still; asking again changes nothing
		delete(k.has, name)
	}
}

// next says what is to be sent now.
func (c *client) next(now time.Time) []*discoveryv3.DeltaDiscoveryResponse {
	if c.latest == nil {
		return nil
	}
	c.retryFilters(now)
	var all []*discoveryv3.DeltaDiscoveryResponse
	for {
		if c.target == nil || c.target != c.latest && c.isFree(now) {
			c.begin(now)
		}
		all = append(all, c.pushStages(now)...)
		if c.target == c.latest || !c.isFree(now) {
			if m := c.pushReady(now); m != nil {
				all = append(all, m)
			}
			return all
		}
	}
}

// pushReady sends the listener that says that the Envoy is ready. One that comes back has it, or is as it was at first.
func (c *client) pushReady(now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[Listener]
	if c.ready == nil || c.live == nil || !k.wildcard || k.pending != nil || k.has[c.ready.Name] == c.ready.Version ||
		k.rejected[c.ready.Name].Version == c.ready.Version {
		return nil
	}
	return c.send(Listener, []*Resource{c.ready}, nil, now)
}

// begin makes the latest snapshot the target.
func (c *client) begin(now time.Time) {
	c.target, c.begun, c.reached, c.renewed = c.latest, now, stageBegin, map[string]bool{}
	for t := range typeCount { // what is not wanted any more matters no more
		maps.DeleteFunc(c.types[t].rejected, func(name string, was Rejection) bool {
			r := c.want(t, name)
			if t == Listener && c.ready != nil && name == c.ready.Name {
				r = c.ready
			}
			return r == nil || r.Version != was.Version
		})
	}
}

// pushStages sends what the stage allows that the target has come to.
func (c *client) pushStages(now time.Time) (all []*discoveryv3.DeltaDiscoveryResponse) {
	send := func(types ...Type) {
		for _, t := range types {
			if m := c.push(t, now); m != nil {
				all = append(all, m)
			}
		}
	}
	c.returned = c.returned && !c.isRouted() && now.Sub(c.connected) < c.deadline
	send(Endpoint, Cluster, Secret, Filter)
	if !c.pass(stageClusters, now, c.hasAll(Cluster), c.hasEndpoints(), c.hasAsked(Filter), c.hasAsked(Secret)) {
		return all
	}
	if m, tried := c.tryFilters(now); !tried {
		return append(all, m...)
	}
	send(Routes)
	if !c.pass(stageRoutes, now, c.hasAsked(Routes)) {
		return all
	}
	send(Listener)
	has := c.hasAll
	if c.hasRejected(Listener) { // and so what that leads to is never asked for
		has = c.hasAsked
	}
	if !c.pass(stageListeners, now, c.hasAll(Listener), has(Routes), has(Filter), has(Secret)) ||
		c.hasRejected(Routes) || c.hasRejected(Listener) || c.hasRejected(Filter) {
		return all
	}
	return append(all, c.removeRest(now)...)
}

// removeRest takes away what the target does not have: listeners, then what only their routes needed.
func (c *client) removeRest(now time.Time) (all []*discoveryv3.DeltaDiscoveryResponse) {
	if m := c.pushRemovals(Listener, now); m != nil {
		return append(all, m)
	}
	if c.types[Listener].pending != nil {
		return nil
	}
	if m := c.pushRemovals(Cluster, now); m != nil {
		return append(all, m)
	}
	if c.types[Cluster].pending == nil && c.pass(stageRemovals, now) {
		c.live = c.target
	}
	return all
}

// pass tells whether a stage is done, and notes when that was so first. What the Envoy has not even asked for is not
// waited for without end.
func (c *client) pass(s stage, now time.Time, done ...bool) bool {
	if slices.Contains(done, false) && (now.Sub(c.begun) < c.deadline || c.isWaiting()) {
		return false
	}
	if c.reached < s {
		c.reached = s
		if !slices.Contains(done, false) && c.target.Since.After(c.connected) {
			c.observe.staged(s, c.target.Since, now.Sub(c.target.Since))
		}
	}
	return true
}

// want is the resource of a name that the Envoy ought to have now.
func (c *client) want(t Type, name string) *Resource {
	if latest := c.latest.resources[t][name]; t == Endpoint && latest != nil {
		return latest
	}
	return c.target.resources[t][name]
}

// isSettled tells whether the Envoy has what it ought to, or has rejected that.
func (c *client) isSettled(t Type, r *Resource) bool {
	k := &c.types[t]
	return k.has[r.Name] == r.Version || k.rejected[r.Name].Version == r.Version || c.isWithheld(t, r)
}

// isWithheld tells whether routes lead to a cluster that the Envoy has rejected, and has no older one of: what it has of
// the routes goes on.
func (c *client) isWithheld(t Type, r *Resource) bool {
	if t != Routes || len(c.types[Cluster].rejected) == 0 || c.types[Routes].has[r.Name] == "" {
		return false
	}
	return slices.ContainsFunc(r.Needs, func(name string) bool {
		return c.types[Cluster].rejected[name].Version != "" && c.types[Cluster].has[name] == ""
	})
}

// hasAll tells whether everything of a type is settled; hasAsked leaves out what the Envoy has not asked for.
func (c *client) hasAll(t Type) bool { return c.has(t, false) }

func (c *client) hasAsked(t Type) bool { return c.has(t, true) }

func (c *client) has(t Type, asked bool) bool {
	if c.isClean(t) {
		return true
	}
	k := &c.types[t]
	for name := range c.listOpen(t) {
		if asked && !k.wildcard && !k.names[name] {
			continue
		}
		if !c.isSettled(t, c.want(t, name)) {
			return false
		}
	}
	return true
}

// listOpen gives the resources of a type that the Envoy may not have as it should: those that are others than when it had all, if that is
// known, so that thousands need not be looked at.
func (c *client) listOpen(t Type) map[string]*Resource {
	all := c.target.resources[t]
	names, known := c.findOpen(t)
	if !known {
		return all
	}
	open := make(map[string]*Resource, len(names))
	for _, name := range names {
		if r := all[name]; r != nil {
			open[name] = r
		}
	}
	return open
}

// findOpen gives the names that are of something else, or nothing, since the Envoy had all resources of a type; false where that is
// not known.
func (c *client) findOpen(t Type) (names []string, known bool) {
	k := &c.types[t]
	wanted := []*Snapshot{c.target}
	if t == Endpoint && c.latest != c.target {
		wanted = append(wanted, c.latest)
	}
	for _, s := range wanted {
		switch {
		case !k.clean, k.moving && s.sums[t] != k.movingTo:
			return nil, false
		case s.edited[t].from == k.cleanAt && s.sums[t] != k.cleanAt:
			names = append(names, s.edited[t].names...)
		case s.sums[t] != k.cleanAt || k.moving:
			return nil, false
		}
	}
	return names, true
}

// hasEndpoints tells whether every cluster has endpoints that are as new as the target: those that come meanwhile are
// not waited for.
func (c *client) hasEndpoints() bool {
	if c.isClean(Endpoint) {
		return true
	}
	k := &c.types[Endpoint]
	for name, r := range c.listOpen(Endpoint) {
		settled := k.has[name] == r.Version || k.has[name] != "" && c.renewed[name] || c.isHeldBack(Endpoint, name) ||
			c.isSettled(Endpoint, c.want(Endpoint, name))
		// Those of a cluster that the Envoy does not have are never asked for.
		if !settled && c.types[Cluster].rejected[name].Version == "" {
			return false
		}
	}
	return true
}

// isRouted tells whether the Envoy has the target's routes, and the session policies that travel with them. Those of listeners
// that it has rejected are never asked for.
func (c *client) isRouted() bool {
	has := c.hasAll
	if c.hasRejected(Listener) {
		has = c.hasAsked
	}
	return has(Routes) && !c.hasRejected(Routes)
}

// isHeldBack tells whether endpoints stay what the Envoy came with, until it knows by its session policies whose their addresses
// are: while it was away one may have passed to another pod, and be an endpoint again for those who know.
func (c *client) isHeldBack(t Type, name string) bool {
	return t == Endpoint && c.returned && c.types[Endpoint].has[name] != ""
}

// isClean tells whether the Envoy is known to have all that it ought to of a type, so that thousands of names need not be
// looked at.
func (c *client) isClean(t Type) bool {
	k := &c.types[t]
	return k.clean && !k.moving && k.cleanAt == c.target.sums[t] && (t != Endpoint || k.cleanAt == c.latest.sums[t])
}

// noteClean notes that nothing of a type is new, if the Envoy has all of it.
func (c *client) noteClean(t Type) {
	k := &c.types[t]
	if len(k.rejected) == 0 && (t != Endpoint || !c.returned && c.latest.sums[t] == c.target.sums[t]) &&
		(t != Routes || len(c.types[Cluster].rejected) == 0) && c.hasAll(t) {
		k.clean, k.cleanAt, k.moving = true, c.target.sums[t], false
	}
}

func (c *client) hasRejected(t Type) bool {
	if len(c.types[t].rejected) == 0 && (t != Routes || len(c.types[Cluster].rejected) == 0) {
		return false
	}
	for name := range c.target.resources[t] {
		r := c.want(t, name)
		if c.types[t].rejected[name].Version == r.Version || c.isWithheld(t, r) {
			return true
		}
	}
	return false
}

// isFree tells whether the target is done with: as a whole, or as far as the Envoy takes it.
func (c *client) isFree(now time.Time) bool {
	if c.live == c.target {
		return true
	}
	for t := range typeCount {
		if t != Endpoint && c.types[t].pending != nil {
			return false
		}
	}
	rejected := false
	for t := range typeCount {
		rejected = rejected || c.hasRejected(t)
	}
	return rejected && c.reached >= stageListeners || c.isFilterRefused() || now.Sub(c.begun) >= c.deadline
}

// isWaiting tells whether the Envoy owes an answer.
func (c *client) isWaiting() bool {
	return slices.ContainsFunc(c.types[:], func(k clientType) bool { return k.pending != nil })
}

// push makes the message with what is new of a type, nil if there is nothing, or an answer is due.
func (c *client) push(t Type, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if !k.asked || k.pending != nil {
		return nil
	}
	var changed []*Resource
	var absent []string
	if !c.isClean(t) {
		changed, absent = c.findNew(t)
	}
	if len(changed) == 0 {
		k.limit = 0
	}
	if len(changed)+len(absent) == 0 && !c.isClean(t) {
		c.noteClean(t)
	}
	slices.SortFunc(changed, func(a, b *Resource) int { return cmp.Compare(a.Name, b.Name) })
	if k.limit > 0 && len(changed) > k.limit {
		changed = changed[:k.limit]
	}
	return c.send(t, changed, absent, now)
}

// findNew finds what the Envoy asked for and has not as it should be, and the names that lead to nothing, which are told once.
func (c *client) findNew(t Type) (changed []*Resource, absent []string) {
	k := &c.types[t]
	note := func(name string) {
		if r := c.want(t, name); r != nil && !c.isSettled(t, r) && !c.isHeldBack(t, name) {
			changed = append(changed, r)
		} else if r == nil && k.has[name] == "" && !k.absent[name] {
			k.absent[name] = true
			absent = append(absent, name)
		}
	}
	if names, known := c.findOpen(t); known {
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if k.wildcard && c.target.resources[t][name] != nil || k.names[name] {
				note(name)
			}
		}
		return changed, absent
	}
	if k.wildcard {
		for name := range c.target.resources[t] {
			note(name)
		}
	}
	for name := range k.names {
		if !k.wildcard || c.target.resources[t][name] == nil {
			note(name)
		}
	}
	return changed, absent
}

// pushRemovals makes the message that takes away what the target does not have; nil if there is nothing.
func (c *client) pushRemovals(t Type, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if !k.wildcard || k.pending != nil || !k.asked || c.isClean(t) && len(k.has) == len(c.target.resources[t]) {
		return nil // the last: it has all that there is, and so nothing else
	}
	var gone []string
	for name := range k.has {
		if c.target.resources[t][name] == nil && (t != Listener || c.ready == nil || name != c.ready.Name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return c.send(t, nil, gone, now)
}

func (c *client) send(t Type, changed []*Resource, removed []string, now time.Time) *discoveryv3.DeltaDiscoveryResponse {
	k := &c.types[t]
	if len(changed)+len(removed) == 0 && (k.greeted || !k.wildcard || len(k.has) > 0) {
		return nil
	}
	k.greeted, k.moving, k.movingTo = true, true, c.target.sums[t]
	c.counter++
	since := c.target.Since
	if t == Endpoint {
		since = c.latest.Since
	}
	p := &push{nonce: strconv.Itoa(c.counter), sent: now, resources: changed, removed: removed, since: since}
	k.pending = p
	message := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: c.target.Generation, TypeUrl: t.URL(), Nonce: p.nonce, RemovedResources: removed,
	}
	for _, r := range changed {
		message.Resources = append(message.Resources, &discoveryv3.Resource{Name: r.Name, Version: r.Version, Resource: r.body(k.refused)})
	}
	c.observe.sent(t, len(changed), len(removed))
	return message
}
