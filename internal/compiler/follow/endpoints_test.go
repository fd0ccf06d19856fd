package follow

import (
	"bytes"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// laneWorld is the shop with a split under one session, whose first Service has two hosts.
var laneWorld = strings.NewReplacer(
	"backendRefs: [{name: cart, port: 80}]", "backendRefs: [{name: cart, port: 80}, {name: idle, port: 80}]",
	"endpoints: [{addresses: [10.0.0.1]}]", `endpoints:
- {addresses: [10.0.0.1], targetRef: {kind: Pod, name: one, uid: one}, hostname: app-0}
- {addresses: [10.0.0.2], targetRef: {kind: Pod, name: two, uid: two}, hostname: app-1}`,
).Replace(compilertest.Shop) + `---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: cart, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
  sessionName: cart
  absoluteTimeout: 8h
  drainTimeout: 10m
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: idle, namespace: shop, labels: {kubernetes.io/service-name: idle}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.0.1.1]}]
`

const (
	ofAddresses = "addressType: IPv4\nports: [{name: http, port: 8080}]\nendpoints:"

	drains  = "conditions: {ready: false, serving: true, terminating: true}, addresses"
	unready = "conditions: {ready: false}, addresses"
)

// TestLaneEqualsPart changes the slice of a Service, and holds that a part whose clusters alone got other hosts is the one that is made
// again; and that a part is made again where routes, policies or messages depend on these.
func TestLaneEqualsPart(t *testing.T) {
	reused := lower.Owners{
		{Namespace: "shop", Address: netip.MustParseAddrPort("10.0.0.3:8080")}: ir.HostOwner{UID: "three", Reused: true, Live: true},
	}
	moves := []string{"[10.0.0.2], targetRef: {kind: Pod, name: two, uid: two}", "[10.0.0.3], targetRef: {kind: Pod, name: three, uid: three}"}
	// with writes a field into the policy.
	with := func(field string) []string { return []string{"sessionName: cart", "sessionName: cart\n  " + field} }
	for name, c := range map[string]struct {
		first   []string // replacements in the world to begin with
		change  []string // and then
		owners  lower.Owners
		later   time.Duration
		renewed bool
	}{
		"a host":                     {change: moves},
		"one more":                   {change: []string{"\nendpoints:\n-", "\nendpoints:\n- {addresses: [10.0.0.9]}\n-"}},
		"an owner":                   {change: moves, owners: reused, renewed: true},
		"an owner who is not asked":  {first: with("identity: Address"), change: moves, owners: reused},
		"an unacknowledged owner":    {first: with("identity: Address"), change: moves, owners: unacknowledged(reused)},
		"the name of a host":         {first: with("identity: Name"), change: moves, renewed: true},
		"a revoked host":             {first: with(`revocation: {backends: ["shop/cart:80 before 2024-01-01T00:00:00Z"]}`), change: moves, renewed: true},
		"another backend is revoked": {first: with(`revocation: {backends: ["shop/idle:80 before 2024-01-01T00:00:00Z"]}`), change: moves},
		"a host drains":              {change: []string{"addresses: [10.0.0.2]", drains + ": [10.0.0.2]"}},
		"a host has drained":         {first: []string{"addresses: [10.0.0.2]", drains + ": [10.0.0.2]"}, later: 11 * time.Minute},
		"an unready host":            {change: []string{"addresses: [10.0.0.2]", unready + ": [10.0.0.2]"}},
		"the last ready host":        {change: []string{"addresses: [10.0.0", unready + ": [10.0.0"}, renewed: true},
		"hosts behind a name": {
			change: []string{ofAddresses + "\n-", strings.Replace(ofAddresses, "IPv4", "FQDN", 1) + "\n- {addresses: [a.example.com]}\n-"}, renewed: true,
		},
		"a second address":          {change: []string{"[10.0.0.2]", "[10.0.0.2, 10.0.0.7]"}, renewed: true},
		"a place where none may be": {change: []string{"[10.0.0.2]", "[127.0.0.1]"}, renewed: true},
	} {
		t.Run(name, func(t *testing.T) {
			world := strings.NewReplacer(c.first...).Replace(laneWorld)
			changed := strings.NewReplacer(c.change...).Replace(world)
			m := Environment{Now: time.Unix(1e9, 0), Files: func() []string { return []string{"world"} }, Owners: c.owners}
			if m.Owners == nil {
				m.Owners = lower.Owners{} // as Update has them
			}
			s := followLane(t, world, m)
			before := onlyGroup(t, s)
			m.Since = map[ir.HostKey]time.Time{{Namespace: "shop", Address: netip.MustParseAddrPort("10.0.0.2:8080")}: m.Now}
			m.Now = m.Now.Add(c.later)
			clusters := slices.Clone(before.part.clusters)
			updateLane(t, s, changed, m)
			g := onlyGroup(t, s)
			if renewed := g != before; renewed != c.renewed {
				t.Errorf("made again: %t", renewed)
			}
			if reflect.DeepEqual(clusters, g.part.clusters) {
				t.Error("the clusters are what they were, so that nothing is shown")
			}
			comparePart(t, g.part, s.compile(g, m))
			for i := range g.part.clusters {
				if s.groups.temporary[g][i] != g.part.clusters[i].Remembered.IsTemporary() {
					t.Errorf("the temporary clusters are %v", s.groups.temporary[g])
				}
			}
		})
	}
}

// TestOneEndpointChange changes one slice, and holds how little comes of it: one resource with endpoints is another, and nothing is made
// again, looked through or marked that does not depend on it. What the change has no business with is not there while it is made.
func TestOneEndpointChange(t *testing.T) {
	m := Environment{Now: time.Unix(1e9, 0)}
	s := followLane(t, laneWorld, m)
	before, g := serveLane(t, s), onlyGroup(t, s)
	base, layout, selection := s.base, s.layout.Layout, s.selected.now
	m.Selection = s.Selection()
	part := g.part
	s.takeMarked()

	s.objects.context, s.objects.targets, s.objects.graph, s.merged.sites, s.merged.unused = nil, nil, nil, nil, nil
	otherStatuses := updateLane(t, s, strings.Replace(laneWorld, "[10.0.1.1]", "[10.0.1.2]", 1), m)
	now := serveLane(t, s)

	if onlyGroup(t, s) != g || g.part != part || s.base != base {
		t.Error("a part is made again")
	}
	if s.layout.Layout != layout || s.selected.now != selection {
		t.Error("what all routes may depend on is put together again")
	}
	if marked, all := s.takeMarked(); all || otherStatuses || len(marked) > 0 {
		t.Errorf("the statuses of %v, or of all: %t, are to be found out again", marked, all)
	}
	if !slices.Equal(now.Routes, before.Routes) || !slices.Equal(now.Listeners, before.Listeners) ||
		!slices.Equal(now.Filter, before.Filter) || !slices.Equal(now.Secrets, before.Secrets) {
		t.Error("something else than endpoints is served as another value")
	}
	if _, others := before.Clusters.Others(now.Clusters); len(others) > 0 {
		t.Errorf("clusters are served as other values: %v", others)
	}
	var names []string
	for i, p := range now.Endpoints.Slice() {
		if p != before.Endpoints.Slice()[i] {
			names = append(names, p.Name)
		}
	}
	if want := g.part.clusters[0].Name; !slices.Equal(names, []string{want}) {
		t.Errorf("the endpoints of %q are others, want those of %s alone", names, want)
	}
}

// serveLane gives what the proxies of all Gateways get.
func serveLane(t *testing.T, s *State) *envoy.Served {
	t.Helper()
	all, err := s.Served(policyconfig.Keys{}, nil, func(string) envoy.Telemetry { return envoy.Telemetry{} })
	if err != nil || len(all) != 1 {
		t.Fatalf("%d Gateways: %v", len(all), err)
	}
	return all[0]
}

// unacknowledged are owners of which proxies do not know.
func unacknowledged(known lower.Owners) lower.Owners {
	all := lower.Owners{}
	for at, o := range known {
		all[at] = ir.HostOwner{UID: o.UID, Reused: true}
	}
	return all
}

func followLane(t *testing.T, world string, m Environment) *State {
	t.Helper()
	s := New(Settings{
		Steps: pipeline.Settings{Bind: netip.MustParseAddr("0.0.0.0")},
		Envoy: envoy.Assembly{Settings: envoy.Settings{ModulePath: "/limpet.wasm"}},
	})
	updateLane(t, s, world, m)
	return s
}

// updateLane has a state take documents, each a source of its own, and tells whether statuses may be others.
func updateLane(t *testing.T, s *State, world string, m Environment) (otherStatuses bool) {
	t.Helper()
	var sources []read.Source
	for i, text := range strings.Split(world, "\n---\n") {
		sources = append(sources, read.Source{Name: string(rune('a' + i)), Data: []byte(text)})
	}
	m.Files = func() []string { return slices.Sorted(s.Store().Names()) }
	if err := s.store.Set(sources); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(m); err != nil {
		t.Fatal(err)
	}
	_, otherStatuses, err := s.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return otherStatuses
}

func onlyGroup(t *testing.T, s *State) (only *group) {
	t.Helper()
	if len(s.groups.all) != 1 {
		t.Fatalf("%d groups", len(s.groups.all))
	}
	for g := range s.groups.all {
		only = g
	}
	return only
}

// comparePart holds that a part is what it comes to when it is made.
func comparePart(t *testing.T, got, want *groupPart) {
	t.Helper()
	if len(got.clusters) != len(want.clusters) {
		t.Fatalf("%d clusters, want %d", len(got.clusters), len(want.clusters))
	}
	for i := range got.clusters {
		if g, w := &got.clusters[i], &want.clusters[i]; !reflect.DeepEqual(g.Cluster, w.Cluster) || !reflect.DeepEqual(g.Remembered, w.Remembered) {
			t.Errorf("cluster %+v,\nwant %+v", g, w)
		}
	}
	if !reflect.DeepEqual(got.policies, want.policies) {
		t.Errorf("policies %+v,\nwant %+v", got.policies, want.policies)
	}
	for i := range got.hosts {
		if g, w := got.hosts[i], want.hosts[i]; g.hostKey != w.hostKey || !bytes.Equal(g.text.Text(true), w.text.Text(true)) {
			t.Errorf("host %v: %s,\nwant %s", g.hostKey, g.text.Text(true), w.text.Text(true))
		}
	}
	if g, w := got.report.Problems(), want.report.Problems(); !reflect.DeepEqual(g, w) {
		t.Errorf("it says %v,\nwant %v", g, w)
	}
}
