package xds

import (
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// other is first with another filter, and what else has another name then.
var other = strings.NewReplacer("filter limpet", "filter native", "filter:limpet", "filter:native",
	"routes web", "routes web+native", "routes:web", "routes:web+native").Replace(first)

// TestClientTriesFilter holds that listeners change over to another filter only after Envoy has taken it, on a listener of its own
// that goes again.
func TestClientTriesFilter(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	e.log = nil
	to := listed(t, e.now, other)
	e.set(to)
	e.run()
	const want = "listeners+1-0 filters+1-0 listeners+1-0 routes+1-0 listeners+0-1"
	if got := strings.Join(e.log, " "); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	if err := e.holds(to); err != nil {
		t.Error(err)
	}
}

// TestClientKeepsListeners holds that an Envoy which does not take another filter keeps the listeners that it has, with their filter and
// routes; that it says so; that other changes reach it; and that it gets all of it as soon as it takes the filter.
func TestClientKeepsListeners(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	bad := strings.Replace(other, "filter native", "filter native bad", 1)
	e.set(listed(t, e.now, bad))
	e.run()
	kept := func(when string) {
		t.Helper()
		if !e.words(Listener, "filter:")["limpet"] || e.has[Filter]["limpet"] == nil || e.has[Routes]["web"] == nil {
			t.Errorf("%s: listeners %v, filters %v, routes %v", when, e.has[Listener], e.has[Filter], e.has[Routes])
		}
		rejected := e.client.listRejected()
		if len(rejected) != 1 || rejected[0].Type != "filters" || rejected[0].Words != "not taken: native" {
			t.Errorf("%s: rejected are %+v", when, rejected)
		}
	}
	kept("at first")
	e.set(listed(t, e.now, bad).Edit(e.now, endpoints(text(Endpoint, "a", "later"))))
	e.run()
	if got := string(e.has[Endpoint]["a"].GetResource().GetValue()); got != "later" {
		t.Errorf("endpoints are %q", got)
	}
	e.set(listed(t, e.now, bad+"\ncluster c"))
	e.run()
	if e.has[Cluster]["c"] == nil {
		t.Error("another change waits for the filter")
	}
	kept("after other changes")
	e.connect()
	e.set(e.seen[len(e.seen)-1])
	e.run()
	kept("on another connection")
	e.passTime(RetryAfter)
	kept("after it was sent again")
	e.mended = map[string]bool{"native": true}
	e.passTime(RetryAfter)
	to := e.seen[len(e.seen)-1]
	if err := e.holds(to); err != nil || len(e.client.listRejected()) > 0 {
		t.Error(err, e.client.listRejected())
	}
}

// TestClientWithoutFilter holds that an Envoy which has nothing that serves gets its listeners without waiting for the filter, and the
// filter as soon as it takes it.
func TestClientWithoutFilter(t *testing.T) {
	e := newFakeEnvoy(t)
	to := listed(t, e.now, strings.Replace(first, "filter limpet", "filter limpet bad", 1))
	e.set(to)
	e.run()
	if e.has[Listener]["web"] == nil || e.has[Routes]["web"] == nil || len(e.client.listRejected()) != 1 {
		t.Fatalf("it has %v and %v, and has rejected %v", e.has[Listener], e.has[Routes], e.client.listRejected())
	}
	e.mended = map[string]bool{"limpet": true}
	e.passTime(RetryAfter)
	if err := e.holds(to); err != nil {
		t.Error(err)
	}
}

// TestClientKnowsNoSuchFilter holds that an Envoy which does not even take a listener with such a filter keeps those that it has.
func TestClientKnowsNoSuchFilter(t *testing.T) {
	e := newFakeEnvoy(t)
	e.set(listed(t, e.now, first))
	e.run()
	to := listed(t, e.now, other)
	to.findResource(Filter, "native").Trial = text(Listener, "trial/native", "filter:native bad")
	e.set(to)
	e.run()
	rejected := e.client.listRejected()
	if len(rejected) != 1 || rejected[0].Name != "trial/native" || !e.words(Listener, "filter:")["limpet"] {
		t.Errorf("rejected are %+v; listeners %v", rejected, e.has[Listener])
	}
	mended := listed(t, e.now, first)
	e.set(mended)
	e.run()
	if err := e.holds(mended); err != nil || len(e.client.listRejected()) > 0 {
		t.Error(err, e.client.listRejected())
	}
}

// passTime lets time go by, and messages come of it.
func (e *fakeEnvoy) passTime(d time.Duration) {
	e.t.Helper()
	e.now = e.now.Add(d)
	e.pull()
	e.run()
}

// TestJudge: what is wrong with an Envoy is found in what it says of itself.
func TestJudge(t *testing.T) {
	o := Options{Judge: func(version string, extensions []string) string {
		return version + " has " + strings.Join(extensions, ",")
	}}
	node := &corev3.Node{
		UserAgentVersionType: &corev3.Node_UserAgentBuildVersion{UserAgentBuildVersion: &corev3.BuildVersion{
			Version: &typev3.SemanticVersion{MajorNumber: 1, MinorNumber: 37},
		}},
		Extensions: []*corev3.Extension{{Name: "a"}, {Name: "b"}},
	}
	if got := o.judgeNode(node); got != "1.37.0 has a,b" {
		t.Error(got)
	}
	if got := (&Options{}).judgeNode(node); got != "" {
		t.Error(got)
	}
}
