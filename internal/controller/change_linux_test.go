package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
	"github.com/limpet-proxy/limpet/internal/processor"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// BenchmarkChange measures from the sign of a change to the acknowledgement of all of it by an Envoy that answers at once. Each
// object is a source of its own, as those of an API server are.
func BenchmarkChange(b *testing.B) {
	endpoint := changeOf{"endpoint", "EndpointSlice", "10.0.0.2", "10.0.1."}
	policy := changeOf{"policy", "SessionPersistencePolicy", "idleTimeout: 20m", "idleTimeout: 2"}
	route := changeOf{"route", "HTTPRoute", "value: /cart", "value: /cart"}
	hosts, oneHost := scaletest.MakeRoutes, scaletest.MakeRoutesOfOneHost
	for _, world := range []struct {
		name    string
		routes  int
		files   func(routes int) []compiler.Source
		more    []string
		changes []changeOf
	}{
		{"hosts", 1000, hosts, nil, []changeOf{endpoint, policy, route}},
		{"hosts", 5000, hosts, nil, []changeOf{endpoint, policy, route}},
		{"hosts", 10_000, hosts, nil, []changeOf{endpoint, policy, route}},
		{"one host", 10_000, oneHost, nil, []changeOf{endpoint}},
		{"1,000 endpoints", 100, tenEach, nil, []changeOf{endpoint}},
		{"100,000 endpoints", 10_000, tenEach, nil, []changeOf{endpoint}},
		{"beside connections", 5000, hosts, connections, []changeOf{route}},
	} {
		b.Run(fmt.Sprintf("%s/%d", world.name, world.routes), func(b *testing.B) {
			s := startChanging(b, world.files(world.routes), "/limpet-shard.so", world.more...)
			for _, c := range world.changes {
				b.Run(c.name, func(b *testing.B) { s.measure(b, c.change(s)) })
			}
			s.stop()
		})
	}
}

// tenEach are routes with ten endpoints each.
func tenEach(routes int) []compiler.Source {
	const first = "- addresses: [10.0.0.1]\n"
	files, all := scaletest.MakeRoutes(routes), first
	for i := range 8 {
		all += fmt.Sprintf("- addresses: [10.0.2.%d]\n", i)
	}
	for i := range files {
		files[i].Data = bytes.ReplaceAll(files[i].Data, []byte(first), []byte(all))
	}
	return files
}

// connections are a Gateway with a listener and a route for them.
var connections = []string{`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: connections}
spec: {gatewayClassName: limpet, listeners: [{name: tcp, protocol: TCP, port: 9000}]}
`, `apiVersion: gateway.networking.k8s.io/v1alpha2
kind: TCPRoute
metadata: {name: connections}
spec: {parentRefs: [{name: connections}], rules: [{backendRefs: [{name: app-0, port: 80}]}]}
`}

// changeOf is what changes: a word in objects of a kind, which becomes another one and a number.
type changeOf struct{ name, kind, word, other string }

func (c changeOf) change(s *changing) func(b *testing.B) {
	return func(b *testing.B) { s.change(b, c.kind, c.word, c.other) }
}

// measure measures how long changes take.
func (s *changing) measure(b *testing.B, change func(b *testing.B)) {
	b.Helper()
	var took []time.Duration
	before := processor.Time()
	for b.Loop() {
		change(b)
		took = append(took, s.await(b))
	}
	b.ReportMetric(float64((processor.Time()-before).Microseconds())/1000/float64(len(took)), "cpu-ms/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[0].Microseconds())/1000, "best-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkNewRoute measures what limpet works for a route that comes, of many, with a table of routes for all of them or by shard.
func BenchmarkNewRoute(b *testing.B) {
	for _, routes := range []int{1000, 5000, 10_000, 30_000} {
		for name, module := range map[string]string{"whole": "", "sharded": "/limpet-shard.so"} {
			b.Run(fmt.Sprintf("%s/%d", name, routes), func(b *testing.B) {
				s := startChanging(b, scaletest.MakeRoutes(routes), module)
				s.measure(b, s.addRoute)
				s.stop()
			})
		}
	}
}

// BenchmarkStatuses measures what finding out statuses costs when one object has changed, and what the process holds after that.
func BenchmarkStatuses(b *testing.B) {
	for _, routes := range []int{1000, 5000} {
		s := startChanging(b, scaletest.MakeRoutes(routes), "")
		b.Run(fmt.Sprint(routes), func(b *testing.B) {
			if _, err := s.controller.Statuses(nil, nil, true); err != nil {
				b.Fatal(err)
			}
			before, count, took := processor.Time(), 0, time.Duration(0)
			for b.Loop() {
				count++
				s.change(b, "HTTPRoute", "value: /cart", "value: /cart")
				s.await(b)
				begun := time.Now()
				if _, err := s.controller.Statuses(nil, nil, false); err != nil {
					b.Fatal(err)
				}
				took += time.Since(begun)
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(count), "statuses-ms/op")
			b.ReportMetric(float64((processor.Time()-before).Milliseconds())/float64(count), "cpu-ms/op")
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc>>20), "MiB-held")
		})
		s.stop()
	}
}

// changing is a server whose input changes.
type changing struct {
	controller *Controller
	sources    read.List
	first      []compiler.Source // of these, as they were at first
	inputs     chan Input
	live       chan struct{}
	count      int
	stop       func()
}

func startChanging(b *testing.B, files []compiler.Source, shardModule string, more ...string) *changing {
	b.Helper()
	s := &changing{inputs: make(chan Input, 1), live: make(chan struct{}, 100)}
	sources := splitSources(files)
	for i, text := range more {
		sources = append(sources, compiler.Source{Name: fmt.Sprintf("more/%d", i), Data: []byte(text)})
	}
	s.first, s.sources = sources, read.NewList(slices.Clone(sources)...)
	c, _ := newController(b)
	c.Admitted, c.Changes = true, s
	c.Options = func(in Input) compiler.Options {
		return compiler.Options{Keys: in.Keys, RouteBudget: 1 << 33, Envoy: &compiler.EnvoyOptions{
			ModulePath: "/limpet.wasm", ShardModule: shardModule, Admin: compiler.NoAdmin,
		}}
	}
	c.Server = xds.NewServer(xds.Options{
		Deadline: time.Minute, Authenticate: xds.AuthenticateByCertificate("limpet"), HasModule: shardModule != "", Log: liveLog{serve.Log{To: slog.New(slog.DiscardHandler)}, s.live},
	})
	c.Read = func(io.Writer) (Input, error) { return Input{Sources: s.sources}, nil }
	s.controller = c
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := c.Start(); err != nil {
		b.Fatal(err)
	}
	go c.Run(ctx)
	disconnect := connectWilling(b, c, "default/web")
	s.stop = func() {
		disconnect()
		cancel()
	}
	<-s.live
	return s
}

// splitSources gives each document a source of its own, in the order of their names.
func splitSources(files []compiler.Source) (all []compiler.Source) {
	for _, f := range files {
		for i, text := range strings.Split(strings.TrimPrefix(string(f.Data), "---\n"), "---\n") {
			all = append(all, compiler.Source{Name: fmt.Sprintf("%s/%06d", f.Name, i), Data: []byte(text)})
		}
	}
	slices.SortFunc(all, func(a, b compiler.Source) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// change changes an object.
func (s *changing) change(b *testing.B, kind, word, other string) {
	b.Helper()
	s.count++
	for i := s.count * 401 % len(s.first); ; i = (i + 1) % len(s.first) {
		one := s.first[i]
		if bytes.Contains(one.Data, []byte("kind: "+kind+"\n")) && bytes.Contains(one.Data, []byte(word)) {
			now := fmt.Sprintf("%s%d", other, 1+s.count%200)
			if kind == "SessionPersistencePolicy" {
				now += "m"
			}
			one.Data = bytes.Replace(one.Data, []byte(word), []byte(now), 1)
			s.sources = s.sources.With([]compiler.Source{one}, nil)
			return
		}
	}
}

// addRoute adds a route to a Service of another one.
func (s *changing) addRoute(*testing.B) {
	s.count++
	one := compiler.Source{Name: fmt.Sprintf("new/%06d", s.count), Data: fmt.Appendf(nil, `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: new-%[1]d, namespace: default}
spec: {parentRefs: [{name: web}], hostnames: [new-%[1]d.example.com], rules: [{backendRefs: [{name: app-0, port: 80}]}]}
`, s.count)}
	s.sources = s.sources.With([]compiler.Source{one}, nil)
}

// await tells of a change and waits for the acknowledgement.
func (s *changing) await(b *testing.B) time.Duration {
	b.Helper()
	begun := time.Now()
	s.inputs <- Input{}
	select {
	case <-s.live:
	case <-time.After(time.Minute):
		b.Fatal("the change is not live after a minute")
	}
	return time.Since(begun)
}

// Next waits for a change.
func (s *changing) Next(ctx context.Context, _ time.Time) (time.Time, bool) {
	select {
	case <-ctx.Done():
		return time.Time{}, false
	case <-s.inputs:
		return time.Now(), true
	}
}

// liveLog tells when an Envoy has all of a change.
type liveLog struct {
	serve.Log
	live chan<- struct{}
}

// Live is for an Envoy that has everything of a change.
func (l liveLog) Live(xds.ClientStatus, time.Duration) { l.live <- struct{}{} }

func isSharded(r *discoveryv3.Resource) bool {
	return bytes.Contains(r.GetResource().GetValue(), []byte("x-limpet-shard"))
}

// connectWilling connects an Envoy that asks for everything and takes it at once.
func connectWilling(b *testing.B, c *Controller, gateway string) (disconnect func()) {
	b.Helper()
	connection, hangUp := dial(b, c)
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		b.Fatal(err)
	}
	node := &corev3.Node{Id: "willing", Cluster: gateway}
	for _, t := range []xds.Type{xds.Cluster, xds.Listener} {
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: t.URL()})
	}
	go func() {
		known := map[string]bool{}
		for {
			response, err := stream.Recv()
			if err != nil {
				return
			}
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: response.GetTypeUrl(), ResponseNonce: response.GetNonce()})
			var added []string
			for _, r := range response.GetResources() {
				if !known[response.GetTypeUrl()+r.GetName()] {
					known[response.GetTypeUrl()+r.GetName()], added = true, append(added, r.GetName())
				}
			}
			ask := func(t xds.Type, names []string) {
				if len(names) > 0 {
					_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: t.URL(), ResourceNamesSubscribe: names})
				}
			}
			switch response.GetTypeUrl() {
			case xds.Cluster.URL():
				ask(xds.Endpoint, added)
			case xds.Listener.URL():
				if slices.ContainsFunc(response.GetResources(), isSharded) {
					_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: xds.ScopedRoutes.URL()})
				} else {
					ask(xds.Routes, added) // which have the names of their listeners
				}
				ask(xds.Filter, []string{"limpet"})
			}
		}
	}()
	return func() {
		cancel()
		hangUp()
	}
}
