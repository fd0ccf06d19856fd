package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// TestServed holds that a server serves what files say: routes and endpoints are the same messages, clusters and listeners have
// the same names, and so for every input of the golden tests with a single Gateway.
func TestServed(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) < 200 {
		t.Fatal(err, len(inputs))
	}
	compared := 0
	for _, path := range inputs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "kind: Gateway\n") != 1 {
			continue // whose ports are not shared
		}
		sources := []Source{{Name: path, Data: text}}
		files, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w", Dynamic: &Dynamic{EndpointFiles: 1 << 20}}})
		if err != nil {
			continue
		}
		served, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{}}})
		if err != nil || len(served.Served) != 1 {
			t.Errorf("%s: %d Gateways, %v", path, len(served.Served), err)
			continue
		}
		compareServed(t, path, files.Discovery, served.Served[0])
		compared++
	}
	if compared < 100 {
		t.Errorf("%d inputs were compared", compared)
	}
}

// TestSplitConfig holds that a Gateway's part of a configuration has its listeners and what they lead to, and nothing else.
func TestSplitConfig(t *testing.T) {
	listener := func(gateway string, tls bool, route ir.Route) ir.Listener {
		hosts := []ir.Host{{Domain: "*", Routes: []ir.Route{route}}}
		if tls {
			return ir.Listener{Gateway: gateway, TLSHosts: []ir.TLSHost{{Domain: "*", Hosts: hosts}}}
		}
		return ir.Listener{Gateway: gateway, Hosts: hosts}
	}
	whole := &ir.Config{
		Listeners: []ir.Listener{
			listener("a", false, ir.Route{Cluster: "one", Filters: ir.Filters{Mirrors: []ir.Mirror{{Cluster: "copy"}}}}),
			listener("b", false, ir.Route{Cluster: "other"}),
			listener("a", true, ir.Route{
				Split: []ir.Share{{Cluster: "two", Weight: 1}, {Cluster: "three", Weight: 1}},
			}),
		},
		Clusters: []ir.Cluster{{Name: "copy"}, {Name: "one"}, {Name: "other"}, {Name: "three"}, {Name: "two"}},
	}
	parts := newSplitter(whole)
	for gateway, want := range map[string]string{"a": "2 listeners: copy one three two", "b": "1 listeners: other", "c": "0 listeners:"} {
		own := parts.split(gateway)
		got := fmt.Sprintf("%d listeners:", len(own.Listeners))
		for _, c := range own.Clusters {
			got += " " + c.Name
		}
		if got != want {
			t.Errorf("%s has %s; want %s", gateway, got, want)
		}
	}
}

func compareServed(t *testing.T, path string, files *envoy.Discovery, served *envoy.Served) {
	t.Helper()
	if len(files.Routes) != len(served.Routes) || len(files.Clusters) != len(served.Clusters) ||
		len(files.Listeners) != len(served.Listeners) || string(files.PluginJSON) != string(served.PluginJSON) {
		t.Errorf("%s: %d routes, %d clusters and %d listeners are served, or another plugin configuration", path, len(served.Routes),
			len(served.Clusters), len(served.Listeners))
		return
	}
	for i, r := range files.Routes {
		sameMessage(t, path, &routev3.RouteConfiguration{}, r.Resource, served.Routes[i])
	}
	for i, c := range files.Clusters {
		sameMessage(t, path, &endpointv3.ClusterLoadAssignment{}, c.Assignment(), served.Endpoints[i])
		cluster := &clusterv3.Cluster{}
		if err := proto.Unmarshal(served.Clusters[i].Content, cluster); err != nil || cluster.GetName() != c.Name ||
			cluster.GetEdsClusterConfig().GetEdsConfig().GetAds() == nil {
			t.Errorf("%s: cluster %s is %v, %v", path, c.Name, cluster, err)
		}
	}
}

// sameMessage compares a message for a file with one as it is sent.
func sameMessage(t *testing.T, path string, empty proto.Message, r envoy.Resource, packed envoy.Packed) {
	t.Helper()
	want, err := (&anypb.Any{TypeUrl: r.TypeURL, Value: r.Content}).UnmarshalNew()
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(packed.Content, empty); err != nil || !proto.Equal(empty, want) {
		t.Errorf("%s: %s is served as\n%v\nwant\n%v", path, packed.Name, empty, want)
	}
}
