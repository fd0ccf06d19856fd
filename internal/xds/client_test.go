package xds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

const first = `
	cluster a
	cluster b
	filter limpet
	routes web cluster:a cluster:b policy:p
	listener web routes:web filter:limpet`

// TestClientOrder holds what is sent for a change, and in which order: a message is not sent before those of the stage
// before it are acknowledged.
func TestClientOrder(t *testing.T) {
	for _, c := range []struct{ name, to, want string }{
		{"nothing", first, ""},
		{"endpoints", strings.Replace(first, "cluster a", "cluster a x", 1), "endpoints+1-0 clusters+1-0 endpoints+1-0"},
		{"routes", strings.Replace(first, "cluster:b", "cluster:a", 1), "routes+1-0"},
		{"a cluster more", first + "\ncluster c", "clusters+1-0 endpoints+1-0"},
		{
			"another backend", strings.NewReplacer("cluster b", "cluster c", ":b ", ":c ").Replace(first),
			"clusters+1-0 endpoints+1-0 routes+1-0 clusters+0-1",
		},
		{
			"another policy", strings.ReplaceAll(first, "policy:p", "policy:q"), "routes+1-0",
		},
		{"a listener more", first + "\nlistener tls routes:tls secret:s\nsecret s\nroutes tls cluster:a", "listeners+1-0 secrets+1-0 routes+1-0"},
		{"a listener that asks for nothing that there is", first + "\nlistener odd routes:none", "listeners+1-0 routes+0-1"},
		{"nothing left", "", "listeners+0-1 clusters+0-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newFakeEnvoy(t)
			e.set(listed(t, e.now, first))
			e.run()
			e.log = nil
			to := listed(t, e.now, c.to)
			e.set(to)
			e.run()
			if got := strings.Join(e.log, " "); got != c.want {
				t.Errorf("sent %s\nwant %s", got, c.want)
			}
			if err := e.holds(to); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestClientComesBack holds that an Envoy which connects again gets differences only.
func TestClientComesBack(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	for _, c := range []struct{ to, want string }{
		{first, ""},
		{strings.Replace(first, "filter limpet", "filter limpet also", 1), "filters+1-0"},
		{strings.Replace(first, "filter limpet", "filter limpet also", 1) + "\ncluster c", "clusters+1-0 endpoints+1-0"},
	} {
		e.connect()
		e.log = nil
		to := listed(t, e.now, c.to)
		e.set(to)
		e.run()
		if got := strings.Join(e.log, " "); got != c.want {
			t.Errorf("sent %s\nwant %s", got, c.want)
		}
		if err := e.holds(to); err != nil {
			t.Error(err)
		}
	}
}

// TestClientComesBackToReusedAddresses holds that endpoints which an Envoy came back with change after its routes: session policies
// say whose addresses are, and an address may have passed to another pod while it was away. Clusters that it does not have get
// theirs at once, and one that never takes the routes gets all of them after the deadline.
func TestClientComesBackToReusedAddresses(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	e.connect()
	e.log = nil
	later := listed(t, e.now, strings.ReplaceAll(first, "policy:p", "policy:q cluster:c")+"\ncluster c").
		Edit(e.now, endpoints(text(Endpoint, "a", "reused")))
	e.set(later)
	for e.step() {
		if has := e.has[Endpoint]["a"]; string(has.GetResource().GetValue()) == "reused" && !e.words(Routes, "policy:")["q"] {
			t.Fatalf("after %q it has the address, and not whose it is", e.log)
		}
	}
	if err := e.holds(later); err != nil {
		t.Error(err)
	}
	e.connect()
	refused := listed(t, e.now, strings.ReplaceAll(first, "policy:p", "policy:r bad")).
		Edit(e.now, endpoints(text(Endpoint, "a", "once more")))
	e.set(refused)
	e.run()
	if got := string(e.has[Endpoint]["a"].GetResource().GetValue()); got != "reused" {
		t.Errorf("before the deadline the endpoints are %q", got)
	}
	e.now = e.now.Add(11 * time.Second)
	e.pull()
	e.run()
	if got := string(e.has[Endpoint]["a"].GetResource().GetValue()); got != "once more" {
		t.Errorf("after the deadline the endpoints are %q", got)
	}
}

// TestClientUnsettledEndpoints holds that an Envoy gets endpoints at addresses that were other pods' after the routes whose session policies
// say so: also those that it has already, and for as long as it does not take the routes. What else there is does not wait for that.
func TestClientUnsettledEndpoints(t *testing.T) {
	e := newFakeEnvoy(t)
	base := listed(t, e.now, first)
	e.set(base)
	e.run()
	holds := func(what, a, b string) {
		t.Helper()
		got := [2]string{string(e.has[Endpoint]["a"].GetResource().GetValue()), string(e.has[Endpoint]["b"].GetResource().GetValue())}
		if got != [2]string{a, b} {
			t.Errorf("%s: the endpoints are %q", what, got)
		}
	}
	change := func(s *Snapshot, policy string, now ...*Resource) *Snapshot {
		edits := endpoints(now...)
		edits[Routes] = Edit{Set: []*Resource{text(Routes, "web", "cluster:a cluster:b policy:"+policy)}}
		s = s.Edit(e.now, edits)
		e.log = nil
		e.set(s)
		return s
	}
	last := change(base, "q", unsettled("a", "", "without"))
	for e.step() {
		if e.words(Routes, "policy:")["p"] {
			holds("before it knows", "without", "")
		}
	}
	if got := strings.Join(e.log, " "); got != "endpoints+1-0 routes+1-0 endpoints+1-0" {
		t.Errorf("sent %s", got)
	}
	if err := e.holds(last); err != nil {
		t.Error(err)
	}

	last = change(last, "r bad", unsettled("a", "once more", "without"))
	e.run()
	e.now = e.now.Add(11 * time.Second)
	last = change(last, "r bad", text(Endpoint, "b", "other"))
	e.run()
	holds("while it refuses the routes", "without", "other")
	last = change(last, "s", unsettled("b", "moved", "other"))
	last = change(last, "t", unsettled("a", "moved", "without"))
	for e.step() {
		if !e.words(Routes, "policy:")["t"] && string(e.has[Endpoint]["a"].GetResource().GetValue()) != "without" {
			t.Errorf("after %q it has an address of the second move", e.log)
		}
	}
	holds("in the end", "moved", "moved")
	if err := e.holds(last); err != nil {
		t.Error(err)
	}
}

// TestClientKeepsMovedEndpoints holds that an Envoy that knows whose an address is keeps it, and the sessions there, while it has yet to
// learn of others, however many moved before.
func TestClientKeepsMovedEndpoints(t *testing.T) {
	e := newFakeEnvoy(t)
	last := listed(t, e.now, first)
	e.set(last)
	e.run()
	var hosts []string
	for i := range 8 {
		knows := func() string { return strings.Join(append([]string{"other"}, hosts...), " ") }
		before := knows()
		hosts = append(hosts, fmt.Sprintf("pod%d", i))
		policy := fmt.Sprintf("m%d", i)
		edits := endpoints(moved("a", hosts...))
		edits[Routes] = Edit{Set: []*Resource{text(Routes, "web", "cluster:a cluster:b policy:"+policy)}}
		last = last.Edit(e.now, edits)
		e.set(last)
		for e.step() {
			got := string(e.has[Endpoint]["a"].GetResource().GetValue())
			if i > 0 && got != before && (got != knows() || !e.words(Routes, "policy:")[policy]) {
				t.Fatalf("before it knows of pod%d the endpoints are %q; want %q", i, got, before)
			}
		}
		if err := e.holds(last); err != nil {
			t.Fatal(err)
		}
	}
	late := newFakeEnvoy(t)
	late.set(last)
	late.run()
	if err := late.holds(last); err != nil {
		t.Error(err)
	}
}

// TestClientRejects holds what becomes of a change of which the Envoy does not take all: the one at fault is found, sent
// alone once, and never again; the rest comes into effect; and the next change mends it.
func TestClientRejects(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	var many strings.Builder
	for i := range 20 {
		fmt.Fprintf(&many, "cluster n%d\n", i)
	}
	more := first + "\n" + many.String()
	e.set(listed(t, e.now, strings.Replace(strings.ReplaceAll(more, "cluster b", "cluster b2"), "cluster:b", "cluster:b2", 1)+"\ncluster n7b bad"))
	e.run()
	got := e.client.listRejected()
	if len(got) != 1 || got[0].Name != "n7b" || got[0].Words != "not taken: n7b" || got[0].Type != "clusters" {
		t.Fatalf("rejected are %+v", got)
	}
	if e.nacks > 6 || len(e.has[Cluster]) != 22 || e.words(Routes, "cluster:")["b"] {
		t.Errorf("%d answers were no, and there are %d clusters; %v", e.nacks, len(e.has[Cluster]), e.words(Routes, "cluster:"))
	}
	before := e.nacks
	e.set(listed(t, e.now, more+"\ncluster n7b bad"))
	e.run()
	if e.nacks != before {
		t.Errorf("it was sent again, %d times", e.nacks-before)
	}
	mended := listed(t, e.now, more+"\ncluster n7b")
	e.set(mended)
	e.run()
	if err := e.holds(mended); err != nil || len(e.client.listRejected()) > 0 {
		t.Error(err, e.client.listRejected())
	}
}

// TestClientKeepsWhatServes holds that routes to a cluster which the Envoy does not take stay as they were, that what they
// lead to stays too, and that another change comes into effect meanwhile.
func TestClientKeepsWhatServes(t *testing.T) {
	two := first + "\nroutes other cluster:a\nlistener other routes:other filter:limpet"
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, two))
	e.run()
	broken := strings.Replace(two, "cluster b", "cluster bad bad", 1)
	broken = strings.Replace(broken, "cluster:b", "cluster:bad", 1)
	e.set(listed(t, e.now, broken))
	e.run()
	if !e.words(Routes, "cluster:")["b"] || e.has[Cluster]["b"] == nil {
		t.Errorf("routes lead to %v, and there are %d clusters", e.words(Routes, "cluster:"), len(e.has[Cluster]))
	}
	e.set(listed(t, e.now, strings.Replace(broken, "routes other cluster:a", "routes other cluster:c\ncluster c", 1)))
	e.run()
	if !e.words(Routes, "cluster:")["c"] {
		t.Errorf("another listener's routes are held up: %v; rejected %v", e.words(Routes, "cluster:"), e.client.listRejected())
	}
}

// TestClientRejectsListener holds that a listener which the Envoy does not take keeps no other change away from it.
func TestClientRejectsListener(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	broken := first + "\nlistener new routes:new secret:s filter:limpet bad\nroutes new cluster:a\nsecret s"
	e.set(listed(t, e.now, broken))
	e.run()
	e.set(listed(t, e.now, strings.Replace(broken, "cluster:b", "cluster:a other", 1)))
	e.run()
	if e.words(Routes, "cluster:")["b"] || e.nacks != 1 {
		t.Errorf("routes lead to %v after %d rejections", e.words(Routes, "cluster:"), e.nacks)
	}
	mended := listed(t, e.now, first)
	e.set(mended)
	e.run()
	if err := e.holds(mended); err != nil || len(e.client.listRejected()) > 0 {
		t.Errorf("without it: %v, rejected are %+v", err, e.client.listRejected())
	}
}

// TestClientRejectsSome holds that what an Envoy may have taken of a message that it rejected is sent again, also if it ought to have by
// then what it acknowledged before.
func TestClientRejectsSome(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	spoiled := strings.NewReplacer("cluster a", "cluster a bad", "cluster b", "cluster b x\ncluster c x").Replace(first)
	e.set(listed(t, e.now, spoiled))
	for e.nacks < 2 && e.step() { // the clusters, and their endpoints
	}
	if len(e.has[Cluster]) != 3 {
		t.Fatalf("it has the clusters %v", e.has[Cluster])
	}
	e.now = e.now.Add(11 * time.Second)
	last := listed(t, e.now, first+"\ncluster c y")
	e.set(last)
	e.run()
	if err := e.holds(last); err != nil {
		t.Errorf("%v; %q", err, e.log)
	}
}

// TestClientCoalesces holds that one message of a type is under way at a time, and that what changes meanwhile is one
// change.
func TestClientCoalesces(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	e.log = nil
	var last *Snapshot
	for i := range 50 {
		last = listed(t, e.now, strings.Replace(first, "cluster:b", "cluster:b n:"+fmt.Sprint(i), 1))
		e.set(last)
	}
	if len(e.inbox) != 1 {
		t.Fatalf("%d messages are under way", len(e.inbox))
	}
	e.run()
	if err := e.holds(last); err != nil || len(e.log) != 2 {
		t.Errorf("%v; sent %q", err, e.log)
	}
}

// TestClientEndpointsGoAround holds that endpoints reach an Envoy that has not answered to a change of clusters.
func TestClientEndpointsGoAround(t *testing.T) {
	e := newFakeEnvoy(t)
	base := listed(t, e.now, first)
	e.set(base)
	e.run()
	slow := listed(t, e.now, first+"\ncluster c")
	e.set(slow)
	e.set(slow.Edit(e.now, endpoints(text(Endpoint, "a", "gone"))))
	if len(e.inbox) != 2 || e.inbox[1].GetTypeUrl() != Endpoint.URL() {
		t.Fatalf("under way are %v", e.inbox)
	}
	e.run()
	if got := string(e.has[Endpoint]["a"].GetResource().GetValue()); got != "gone" {
		t.Errorf("the endpoints are %q", got)
	}
}

// TestClientLate holds that an Envoy which does not answer is late after the deadline, gets nothing more, and the newest
// when it answers; and that one which never asks for something is not waited for.
func TestClientLate(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	e.set(listed(t, e.now, first+"\ncluster c"))
	if got := e.client.describeLate(e.now.Add(9 * time.Second)); got != "" {
		t.Errorf("late too early: %q", got)
	}
	e.now = e.now.Add(11 * time.Second)
	last := listed(t, e.now, first+"\ncluster d")
	e.set(last)
	if got := e.client.describeLate(e.now); !strings.HasPrefix(got, "no answer to clusters for ") || len(e.inbox) != 1 {
		t.Errorf("late: %q, with %d messages under way", got, len(e.inbox))
	}
	e.run()
	if err := e.holds(last); err != nil {
		t.Error(err)
	}

	deaf := newFakeEnvoy(t)
	deaf.set(listed(t, deaf.now, "cluster a\nsecret s\nfilter f"))
	deaf.run()
	deaf.now = deaf.now.Add(11 * time.Second)
	next := listed(t, deaf.now, "cluster a\ncluster b\nsecret s\nfilter f")
	deaf.set(next)
	deaf.run()
	if deaf.has[Cluster]["b"] == nil {
		t.Error("a change waits for what is never asked for")
	}
}

// TestClientIgnoresStrangers holds that neither an unknown type nor an answer to nothing makes a difference.
func TestClientIgnoresStrangers(t *testing.T) {
	e := newFakeEnvoy(t)
	s := listed(t, e.now, first)
	e.set(s)
	e.client.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/what.is.this"}, e.now)
	e.client.take(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: Cluster.URL(), ResponseNonce: "none of ours"}, e.now)
	if e.client.types[Cluster].pending == nil {
		t.Error("an answer to something else counts")
	}
	e.run()
	if err := e.holds(s); err != nil {
		t.Error(err)
	}
}

// TestClientRandom makes changes at random, while the Envoy answers late, and goes and comes back: at no moment do its
// routes lead to what is not there, and in the end it has what it should, and nothing else.
func TestClientRandom(t *testing.T) {
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 1))
		e := newFakeEnvoy(t)
		var last *Snapshot
		move := 0
		for range 40 {
			move += random.IntN(2)
			next := randomSnapshot(t, random, e.now, int(seed%3), move)
			if last != nil && seed%2 == 0 { // one made of the last one, as a server makes them
				next = last.Edit(e.now, findEdits(last, next))
			}
			last = next
			if e.offer(last); random.IntN(4) == 0 {
				continue
			}
			e.pull()
			for range random.IntN(12) {
				e.step()
				holdsDirty(t, e.client)
			}
			if random.IntN(10) == 0 {
				e.connect()
				e.offer(last)
			}
		}
		e.pull()
		e.run()
		if err := e.holds(last); err != nil || t.Failed() {
			t.Fatalf("seed %d: %v; %q", seed, err, e.tail())
		}
	}
}

// TestClientRandomRejections: whatever an Envoy does not take, answers late to or has when it comes back, no name is forgotten, it has
// the rest while it is at peace, and all of it once everything is good.
func TestClientRandomRejections(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		e := newFakeEnvoy(t)
		e.rejects = true
		last := NewSnapshot(e.now, nil)
		for round := range 30 {
			good := randomSnapshot(t, random, e.now, 1, round)
			last = last.Edit(e.now, findEdits(last, good))
			if round < 29 {
				last = last.Edit(e.now, spoil(random, last))
			}
			e.set(last)
			for range random.IntN(20) {
				e.step()
				holdsDirty(t, e.client)
			}
			switch random.IntN(8) {
			case 0:
				e.connect()
				e.set(last)
			case 1:
				e.passTime(RetryAfter + time.Second)
			}
		}
		e.run()
		e.passTime(RetryAfter + time.Second)
		holdsDirty(t, e.client)
		if err := e.holds(last); err != nil || len(e.client.listRejected()) > 0 || t.Failed() {
			t.Fatalf("seed %d: %v; rejected are %v; %q", seed, err, e.client.listRejected(), e.tail())
		}
	}
}

// spoil gives an edit after which an Envoy rejects some resources.
func spoil(random *rand.Rand, s *Snapshot) map[Type]Edit {
	edits := map[Type]Edit{}
	for _, t := range []Type{Cluster, Endpoint, Filter, Routes, Listener} {
		var e Edit
		for _, r := range s.Resources(t) {
			if len(r.Moved) == 0 && random.IntN(6) == 0 {
				e.Set = append(e.Set, text(t, r.Name, string(r.Body().GetValue())+" bad"))
			}
		}
		edits[t] = e
	}
	return edits
}

// findEdits makes one snapshot of another.
func findEdits(from, to *Snapshot) map[Type]Edit {
	edits := map[Type]Edit{}
	for t := range typeCount {
		var e Edit
		for _, r := range to.Resources(t) {
			if was := from.find(t, r.Name); was == nil || was.Version != r.Version || was.last != r.last {
				e.Set = append(e.Set, r)
			}
		}
		for _, r := range from.Resources(t) {
			if to.find(t, r.Name) == nil {
				e.Removed = append(e.Removed, r.Name)
			}
		}
		edits[t] = e
	}
	return edits
}

// holdsDirty holds that what a client does not look at is as it ought to be: each name is dirty of which its Envoy has anything else.
func holdsDirty(t *testing.T, c *client) {
	t.Helper()
	if c.target == nil {
		return
	}
	for kind := range typeCount {
		k := &c.types[kind]
		all := maps.Clone(k.has)
		for _, s := range []*Snapshot{c.target, c.latest} {
			for _, r := range s.Resources(kind) {
				all[r.Name] += ""
			}
		}
		for name := range all {
			ought := c.target.find(kind, name)
			if latest := c.latest.find(kind, name); kind == Endpoint && latest != nil {
				ought = latest
			}
			isRight := ought == nil && (k.has[name] == "" || !k.wildcard) ||
				ought != nil && k.isAt(name, ought.Version) && ought.last <= c.routed
			if !isRight && !c.dirty[kind][name] {
				t.Fatalf("%s %s is not as it ought to be, and is not looked at", kind, name)
			}
			latest, target := c.latest.find(kind, name), c.target.find(kind, name)
			isSame := latest == target || latest != nil && target != nil && latest.Version == target.Version
			if kind != Endpoint && !isSame && !c.ahead[kind][name] {
				t.Fatalf("%s %s is something else in the latest snapshot than in the target, and is not known to be", kind, name)
			}
		}
	}
}

// randomSnapshot has up to four listeners, and at least some, the routes of which lead to some of eight clusters. Some endpoints are at addresses that were other
// pods' before a move, which the routes know of.
func randomSnapshot(t *testing.T, random *rand.Rand, now time.Time, least, move int) *Snapshot {
	t.Helper()
	var lines []string
	var knows strings.Builder
	for m := range move + 1 {
		fmt.Fprintf(&knows, " knows:%d", m)
	}
	used := map[int]bool{}
	for l := range max(random.IntN(4), least) {
		words := []string{"routes", fmt.Sprintf("r%d", l)}
		for range random.IntN(4) {
			c := random.IntN(8)
			used[c] = true
			words = append(words, fmt.Sprintf("cluster:c%d", c))
		}
		policy := fmt.Sprintf("policy:p%d-%d", l, random.IntN(3))
		lines = append(lines, strings.Join(append(words, policy), " ")+knows.String(),
			fmt.Sprintf("listener l%d routes:r%d filter:limpet v:%d", l, l, random.IntN(2)))
	}
	for _, c := range slices.Sorted(maps.Keys(used)) {
		lines = append(lines, fmt.Sprintf("cluster c%d v:%d", c, random.IntN(2)))
	}
	if len(lines) > 0 {
		lines = append(lines, fmt.Sprintf("filter limpet v:%d", random.IntN(2)))
	}
	s := listed(t, now, strings.Join(lines, "\n"))
	var moved []*Resource
	for _, r := range s.Resources(Endpoint) {
		if random.IntN(3) == 0 {
			settled := string(r.Body().GetValue())
			moved = append(moved, unsettled(r.Name, fmt.Sprintf("%s moved:%d", settled, move), settled))
		}
	}
	return s.Edit(now, endpoints(moved...))
}
