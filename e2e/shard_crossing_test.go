package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestShardsCross: an Envoy that serves goes from whole tables of routes to shards and back, and from one table for all shards to many,
// while sessions are in use: no request fails and no session moves.
func TestShardsCross(t *testing.T) {
	t.Parallel()
	harness.RequireShards(t)
	pods := harness.Backends(t, "a", "b", "c")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	s.Terminate(t)
	s.ServeFrom(t, harness.WithoutShards(t)...)
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	clients := beginSessions(t, envoy, 12)
	is := func(routes string) {
		t.Helper()
		s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return strings.HasPrefix(e.Routes, routes) })
		s.AwaitAcknowledged(t)
	}
	grow := func(to int) {
		t.Helper()
		s.Set(t, func(d *harness.Documents) {
			d.Routes = d.Routes[:1]
			for i := range to {
				d.Routes = append(d.Routes, harness.Route{
					Name: fmt.Sprintf("more-%d", i), Hostnames: []string{fmt.Sprintf("more-%d.example.com", i)},
					Rules: []harness.Rule{harness.PlainRule("", "pods")},
				})
			}
		})
		s.AwaitAcknowledged(t)
	}
	tally := clients.During(func() {
		is("whole: ")
		s.Terminate(t)
		s.ServeAgain(t)
		is("sharded")
		grow(200)
		grow(10)
		grow(200)
		s.Terminate(t)
		s.ServeFrom(t, harness.WithoutShards(t)...)
		is("whole: ")
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
}

// TestShardsBroken: an Envoy that can't load the module has whole tables of routes from its start, and limpet status says why. One that had
// shards goes on.
func TestShardsBroken(t *testing.T) {
	t.Parallel()
	harness.RequireShards(t)
	pods := harness.Backends(t, "a", "b", "c")
	s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
	before := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	clients := beginSessions(t, before, 12)
	tally := clients.During(func() {
		s.Terminate(t)
		s.ServeFrom(t, harness.BrokenShards(t)...)
		s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool {
			return strings.HasPrefix(e.Routes, "whole: ") && strings.Contains(e.Routes, ".so")
		})
		s.AwaitAcknowledged(t)
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	before.Stop()
	after := s.Bootstrap(t).Start(t)
	client := after.Client()
	stay(t, client, "/cart", 3)
}
