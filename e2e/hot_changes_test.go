package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// scenery is what hot changes are made to: sessions on one Service and on a split of two, and a route without any.
type scenery struct {
	*harness.Watching
	pods, more []*harness.Backend
	guest      *harness.Backend // comes and goes, and has no sessions
	ring       harness.Ring
	signing    []string // the ids of the keys in use
	answers    []atomic.Int64
}

func newScenery(t *testing.T) *scenery {
	t.Helper()
	s, documents := paintScenery(t)
	s.Watching = harness.RunWatching(t, documents, s.ring.Only(s.signing...))
	return s
}

// paintScenery starts the backends, and gives the documents that lead to them.
func paintScenery(t *testing.T) (*scenery, harness.Documents) {
	t.Helper()
	s := &scenery{
		pods: harness.Backends(t, "a", "b", "c"), more: harness.Backends(t, "d", "e"), guest: harness.NewBackend(t, "guest"),
		ring: harness.NewRing("k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"), signing: []string{"k0"},
	}
	split := harness.Rule{
		Path: "/split", Refs: []harness.Ref{{Service: "pods", Weight: 90}, {Service: "more", Weight: 10}},
		Session: &harness.Session{Name: "split", AbsoluteTimeout: "8h"},
	}
	documents := harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: s.pods}, {Name: "more", Backends: s.more}, {Name: "solo", Backends: s.pods[:1]}},
		Routes: []harness.Route{
			{Name: "app", Rules: []harness.Rule{harness.CookieRule("cart", "pods"), split, harness.PlainRule("plain", "solo")}},
		},
	}
	return s, documents
}

// beginSessions begins sessions of both kinds, and clients without any.
func (s *scenery) beginSessions(t *testing.T, count int) *harness.Clients {
	t.Helper()
	s.answers = make([]atomic.Int64, count)
	paths := []string{"/cart", "/split", "/plain"}
	clients := harness.NewClients(t, count, func(i int) func() (harness.Response, error) {
		get := harness.Getter(s.Client(), paths[i%len(paths)], quietly)
		return func() (harness.Response, error) {
			defer s.answers[i].Add(1)
			return get()
		}
	})
	clients.Every = 5 * time.Millisecond
	return clients
}

// used waits until every client has sent a request since now, and got its answer.
func (s *scenery) used(t *testing.T) {
	t.Helper()
	for i := range s.answers {
		enough := s.answers[i].Load() + 2 // the first of which may be under way
		eventually(t, "every session is used", func() bool { return s.answers[i].Load() >= enough })
	}
}

// change makes the n-th change, each of another kind than the one before, and gives what limpet said of it.
func (s *scenery) change(t *testing.T, n int) string {
	t.Helper()
	rules := func(d *harness.Documents) []harness.Rule { return d.Routes[0].Rules }
	switch round := n / 10; n % 10 {
	case 0: // a host more, which gets new sessions only
		return s.Set(t, func(d *harness.Documents) { d.Services[0].Backends = append(s.pods[:3:3], s.guest) })
	case 1: // a canary
		return s.Set(t, func(d *harness.Documents) { rules(d)[1].Refs[0].Weight, rules(d)[1].Refs[1].Weight = 50, 50 })
	case 2: // a policy
		return s.Set(t, func(d *harness.Documents) { rules(d)[0].Session.AbsoluteTimeout = fmt.Sprintf("%dh", 8+round) })
	case 3: // a route, with a session and a Service of its own
		return s.Set(t, func(d *harness.Documents) {
			d.Services = append(d.Services, harness.Service{Name: "extra", Backends: s.more})
			d.Routes = append(d.Routes, harness.Route{Name: "extra", Rules: []harness.Rule{harness.CookieRule("extra", "extra")}})
		})
	case 4: // a key in front
		s.signing = append([]string{s.ring.IDs()[(round+1)%len(s.ring.IDs())]}, s.signing...)
		return s.SetKeys(t, s.ring.Only(s.signing...).JSON(t))
	case 5: // hosts that terminate
		return s.Set(t, func(d *harness.Documents) {
			d.Services[0].Backends, d.Services[0].Draining = s.pods[1:], []*harness.Backend{s.pods[0], s.guest}
		})
	case 6: // all of the traffic to one side, and the visitor gone
		return s.Set(t, func(d *harness.Documents) {
			d.Services[0].Draining = s.pods[:1]
			rules(d)[1].Refs[0].Weight, rules(d)[1].Refs[1].Weight = 0, 100
		})
	case 7: // the route away again
		return s.Set(t, func(d *harness.Documents) { d.Routes, d.Services = d.Routes[:1], d.Services[:3] })
	case 8: // a broken file
		return s.SetText(t, strings.Replace(s.Documents.YAML(t), "HTTPRoute", "HTTPRuote", 1)+"\n---\nnothing: [")
	default: // the file mended, the terminating host back; and the old key away
		s.Set(t, func(d *harness.Documents) {
			d.Services[0].Backends, d.Services[0].Draining = s.pods, nil
			rules(d)[1].Refs[0].Weight, rules(d)[1].Refs[1].Weight = 90, 10
		})
		s.used(t)
		s.signing = s.signing[:1]
		return s.SetKeys(t, s.ring.Only(s.signing...).JSON(t))
	}
}

// TestHotChanges changes endpoints, weights, policies, routes and keys of a running Envoy, with a broken file in between,
// while every session is in use: no request fails and no session moves.
func TestHotChanges(t *testing.T) {
	t.Parallel()
	newScenery(t).makeHotChanges(t, "hot changes of endpoints, weights, policies, routes and keys (limpet run)", harness.Size(20, 1000))
}

func (s *scenery) makeHotChanges(t *testing.T, scenario string, changes int) {
	t.Helper()
	clients, progress, refused := s.beginSessions(t, 24), harness.NewProgress(t), 0
	tally := clients.During(func() {
		for n := range changes {
			if line := s.change(t, n); strings.Contains(line, "refused") {
				refused++
			}
			progress.Say("%d of %d changes", n+1, changes)
		}
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	if refused != changes/10 {
		t.Errorf("%d changes were refused, want %d", refused, changes/10)
	}
	harness.RecordResult(t, scenario, harness.Result{
		Requests: tally.Requests, Sessions: clients.Size() * 2 / 3, Changes: s.Changes(), Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d broken files refused", refused),
	})
}
