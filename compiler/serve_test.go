package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestServedTogether holds that proxies of all Gateways are served what those of the one Gateway are that there is, for every input
// of the golden tests with a single Gateway.
func TestServedTogether(t *testing.T) {
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
			continue
		}
		sources := []Source{{Name: path, Data: text}}
		together, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
		if err != nil {
			continue
		}
		apart, err := Compile(sources, Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{}}})
		if err != nil || len(apart.Served) != 1 || len(together.Served) != 1 {
			t.Errorf("%s: %d Gateways, %v", path, len(apart.Served), err)
			continue
		}
		if together.Served[0].Gateway != envoy.AllGateways {
			t.Errorf("%s: served to %s", path, together.Served[0].Gateway)
		}
		together.Served[0].Gateway = apart.Served[0].Gateway
		compareServedLists(t, path, together.Served, apart.Served)
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

// carriedPolicies are the session policies that the routes of a result for a server carry, in the order of their names, each once.
func carriedPolicies(t *testing.T, result *Result) (all []policyconfig.Policy) {
	t.Helper()
	for _, d := range result.Served {
		for _, packed := range d.Routes {
			table := &routev3.RouteConfiguration{}
			if err := proto.Unmarshal(packed.Content, table); err != nil {
				t.Fatal(err)
			}
			for _, host := range table.GetVirtualHosts() {
				for _, route := range host.GetRoutes() {
					text := route.GetMetadata().GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()[policyconfig.RouteField].GetStringValue()
					if text == "" {
						continue
					}
					policies, err := policyconfig.ParseRoute(text, route.GetName(), policyconfig.DefaultConfig().PinHeader)
					if len(err) > 0 {
						t.Fatal(err)
					}
					all = append(all, policies...)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b policyconfig.Policy) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b policyconfig.Policy) bool { return a.Name == b.Name })
}
