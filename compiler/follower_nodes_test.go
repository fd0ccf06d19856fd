package compiler

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// TestFollowerNodes: where machines of the cluster come, go and get Pods, a follower has the endpoints that a compilation has from scratch.
func TestFollowerNodes(t *testing.T) {
	at := netip.MustParseAddr("10.0.0.5")
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}}
	f := newFollower(t, o)
	sources := []Source{
		{Name: "frame.yaml", Data: []byte(placesBase)},
		newPlacedRoute("a one a.example"), newPlacedRoute("b two b.example"),
		{Name: "slice.yaml", Data: []byte("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" +
			"metadata: {name: app, labels: {kubernetes.io/service-name: app}}\naddressType: IPv4\n" +
			"ports: [{port: 8080}]\nendpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.5]}]\n")},
	}
	nodes := func(namespaces ...string) *Nodes { return &Nodes{Pods: map[netip.Addr][]string{at: namespaces}} }
	for _, step := range []struct {
		name  string
		nodes *Nodes
		is    bool // an endpoint
	}{
		{"nothing is known", nil, true},
		{"a node", nodes(), false},
		{"with another namespace's Pod", nodes("shop"), false},
		{"and one of the Service's", nodes("default", "shop"), true},
		{"an API server there", &Nodes{APIServers: []netip.AddrPort{netip.AddrPortFrom(at, 8080)}}, false},
		{"an API server elsewhere", &Nodes{APIServers: []netip.AddrPort{netip.AddrPortFrom(at, 6443)}}, true},
		{"a node again", nodes(), false},
		{"which is gone", &Nodes{}, true},
	} {
		o.Envoy.Served = &Served{Nodes: step.nodes}
		if err := compareFollowed(t, step.name, f, sources, o); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		result, err := f.last.Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range result.Served {
			text := ""
			for e := range g.Endpoints.All() {
				text += fmt.Sprintf("%q", e.Content)
			}
			if strings.Contains(text, at.String()) != step.is || !strings.Contains(text, "10.0.0.1") {
				t.Errorf("%s: the endpoints of %s are %s", step.name, g.Gateway, text)
			}
		}
	}
}
