package xds

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

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

// TestClientRandomRejections: whatever an Envoy does not take, answers late to or has when it comes back, no name is forgotten, it has
// the rest while it is at peace, and all of it once everything is good.
func TestClientRandomRejections(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		e := newFakeEnvoy(t)
		e.rejects = true
		last := NewSnapshot(e.now)
		for round := range 30 {
			good := randomSnapshot(t, random, e.now, 1, round, false)
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
