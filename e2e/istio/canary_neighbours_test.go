package istio

import (
	"strings"
	"testing"

	meshconfig "istio.io/api/mesh/v1alpha1"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
)

// TestCanaryAcrossNamespaces has a version in a namespace of its own; routes of Gateway API, limpet's among them, need a ReferenceGrant.
func TestCanaryAcrossNamespaces(t *testing.T) {
	for _, route := range []string{"HTTPRoute", "VirtualService"} {
		t.Run(route, func(t *testing.T) {
			c := split{route: route, filter: "wasm", weights: [3]int{40, 40, 20}, input: func(text string) string {
				for _, name := range []string{"Service", "EndpointSlice"} {
					text = swap(t, text, "kind: "+name+"\nmetadata: {name: v2, namespace: app", "kind: "+name+"\nmetadata: {name: v2, namespace: vault")
				}
				return strings.NewReplacer("{name: v2, port", "{name: v2, namespace: vault, port", "v2.app.svc", "v2.vault.svc").Replace(text) + `
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: app, namespace: vault}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: app}]
  to: [{group: "", kind: Service}]
`
			}}.start(t)
			c.begin(t)
			c.checkKept(t, "with a version in another namespace", allVersions...)
		})
	}
}

// TestCanaryNextToOthers has routes of another team on the host of a split, of which one takes some of its paths, and one some of its
// requests by a header: requests with sessions go there as those without.
func TestCanaryNextToOthers(t *testing.T) {
	const team = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: team, namespace: app}
spec:
  parentRefs: [{name: gate, namespace: istio-system}]
  hostnames: [shop.example.com]
  rules:
  - name: team
    matches: [{path: {value: /cart/team}}, {path: {value: /cart}, headers: [{name: x-team, value: "yes"}]}]
    backendRefs: [{name: old, port: 80}]
`
	for _, filter := range []string{"wasm", "native"} {
		t.Run(filter, func(t *testing.T) {
			c := split{route: "HTTPRoute", filter: filter, weights: [3]int{40, 40, 20}, input: func(text string) string { return text + team }}.start(t)
			c.begin(t)
			for range rounds {
				for path, header := range map[string]string{"/cart/team": "x-none: none", "/cart/add": "x-team: yes"} {
					if a := c.sessions["v2"].request(t, path, header); c.of[a.backend] != "old" || a.cookie != "" {
						t.Fatalf("%s with %s of a session in v2 went to %q, cookie %q", path, header, a.backend, a.cookie)
					}
				}
			}
			c.checkKept(t, "beside the other team's route", allVersions...)
		})
	}
}

// TestCanaryMutualTLS: copies lead to the very clusters of the split, so what Istio has its proxies speak to sidecars, by transport socket
// matches, is that of requests without sessions.
func TestCanaryMutualTLS(t *testing.T) {
	for _, route := range []string{"HTTPRoute", "VirtualService"} {
		t.Run(route, func(t *testing.T) {
			d := split{route: route, filter: "wasm", weights: [3]int{40, 40, 20}}.deploy(t, &canary{})
			istio, kubernetes := sorted(t, d.input, d.compile(t))
			mesh := plainMesh()
			mesh.EnableAutoMtls.Value = true
			checkMutualTLS(t, istio, kubernetes, mesh)
		})
	}
}

// checkMutualTLS looks at the clusters of a gateway's routes to the cart.
func checkMutualTLS(t *testing.T, istio, kubernetes string, mesh *meshconfig.MeshConfig) {
	t.Helper()
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{ConfigString: istio, KubernetesObjectString: kubernetes, MeshConfig: mesh})
	proxy := server.SetupProxy(&model.Proxy{
		Type: model.Router, IPAddresses: []string{"127.0.0.1"}, ID: "gwpod." + rootNamespace, ConfigNamespace: rootNamespace,
		Labels: gatewayLabels, Metadata: &model.NodeMetadata{Namespace: rootNamespace, Labels: gatewayLabels},
	})
	speak := map[string]bool{} // by clusters
	for _, cluster := range server.Clusters(proxy) {
		for _, match := range cluster.TransportSocketMatches {
			speak[cluster.Name] = speak[cluster.Name] || match.Name == "tlsMode-istio"
		}
	}
	split, copies := map[string]bool{}, map[string]bool{}
	for _, table := range server.Routes(proxy) {
		for _, host := range table.VirtualHosts {
			for _, one := range host.Routes {
				for _, w := range one.GetRoute().GetWeightedClusters().GetClusters() {
					split[w.Name] = true
				}
				for _, h := range one.GetMatch().GetHeaders() {
					if strings.EqualFold(h.Name, leadHeader) {
						copies[one.GetRoute().GetCluster()] = true
					}
				}
			}
		}
	}
	for name := range split {
		if !copies[name] || !speak[name] {
			t.Errorf("cluster %s of the split is one of a copy: %t; speaks mutual TLS to sidecars: %t", name, copies[name], speak[name])
		}
	}
	if len(split) != len(versions) || len(copies) != len(versions) {
		t.Errorf("the split has the clusters %v, the copies %v", split, copies)
	}
}
