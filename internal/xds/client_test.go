package xds

import (
	"fmt"
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
		{"endpoints", strings.Replace(first, "cluster a", "cluster a x", 1), "clusters+1-0 endpoints+1-0"},
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

// TestClientClusterMadeAgain holds that a cluster which is made again gets its endpoints again, though these are the same: also if that
// is before the Envoy has said what endpoints it has, or while it owes an answer about them.
func TestClientClusterMadeAgain(t *testing.T) {
	for _, how := range []string{"connected", "comes back", "with endpoints under way"} {
		e := newFakeEnvoy(t)
		base := listed(t, e.now, first)
		e.set(base)
		e.run()
		again := map[Type]Edit{Cluster: {Set: []*Resource{text(Cluster, "a", "again")}}}
		to := base.Edit(e.now, again)
		switch how {
		case "comes back":
			e.connectTo(to)
		case "with endpoints under way":
			e.set(base.Edit(e.now, endpoints(text(Endpoint, "a", "under way"))))
			to = e.latest.Edit(e.now, again)
			e.set(to)
		default:
			e.set(to)
		}
		e.run()
		if err := e.holds(to); err != nil {
			t.Errorf("%s: %v; %q", how, err, e.tail())
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

// TestClientUnacknowledgedEndpoints holds that an Envoy gets endpoints at addresses that were other pods' after the routes whose session policies
// say so: also those that it has already, and for as long as it does not take the routes. What else there is does not wait for that.
func TestClientUnacknowledgedEndpoints(t *testing.T) {
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
	last := change(base, "q", unacknowledged("a", "", "without"))
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

	last = change(last, "r bad", unacknowledged("a", "once more", "without"))
	e.run()
	e.now = e.now.Add(11 * time.Second)
	last = change(last, "r bad", text(Endpoint, "b", "other"))
	e.run()
	holds("while it refuses the routes", "without", "other")
	last = change(last, "s", unacknowledged("b", "moved", "other"))
	last = change(last, "t", unacknowledged("a", "moved", "without"))
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
