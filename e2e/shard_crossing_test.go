package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
		s.Set(t, func(d *harness.Documents) { d.Routes = append(d.Routes[:1], hostRoutes(to, "pods")...) })
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

// hostRoutes are so many routes of hostnames of their own to a Service.
func hostRoutes(count int, service string) (routes []harness.Route) {
	for i := range count {
		routes = append(routes, harness.Route{
			Name: fmt.Sprintf("more-%d", i), Hostnames: []string{fmt.Sprintf("more-%d.example.com", i)},
			Rules: []harness.Rule{harness.PlainRule("", service)},
		})
	}
	return routes
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

// TestShardsLeft: a site that older ones push out of those that have shards serves connections of before, which drain, as its routes are
// now, also those to backends that have come since.
func TestShardsLeft(t *testing.T) {
	t.Parallel()
	harness.RequireShards(t)
	one, another := harness.Backends(t, "a"), harness.Backends(t, "b")
	documents := harness.OneRoute(one)
	documents.Routes = hostRoutes(200, "pods")
	s := harness.RunDraining(t, 10*time.Minute, documents, harness.NewRing("k"))
	clients := harness.NewClients(t, 12, func(i int) func() (harness.Response, error) {
		client := s.Client()
		client.Host = fmt.Sprintf("more-%d.example.com", i)
		return harness.Getter(client, "/", quietly)
	})
	var older strings.Builder
	for i := range 16 {
		fmt.Fprintf(&older, "{name: l%d, protocol: HTTP, port: %d}, ", i, harness.FreePort(t))
	}
	tally := clients.During(func() {
		s.Set(t, func(d *harness.Documents) {
			d.More = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\n" +
				"metadata: {name: older, creationTimestamp: \"2020-01-01T00:00:00Z\"}\n" +
				"spec: {gatewayClassName: limpet, listeners: [" + older.String() + "]}"
		})
		for _, pods := range [][]*harness.Backend{another, one} {
			s.Set(t, func(d *harness.Documents) {
				d.Services = []harness.Service{{Name: "of-" + pods[0].Name, Backends: pods}}
				d.Routes = hostRoutes(200, d.Services[0].Name)
			})
		}
	})
	if tally.Failed() > 0 {
		t.Errorf("%v", tally)
	}
}
