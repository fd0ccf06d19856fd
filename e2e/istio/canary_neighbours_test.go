package istio

import (
	"net/http"
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

// teams are another team's routes on the host of a split, of which one takes some of its paths, and one some of its requests by a header.
// Of VirtualServices Istio asks the older first, here by its name.
var teams = map[string]string{
	"HTTPRoute": `
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
`,
	"VirtualService": `
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: a-team, namespace: app}
spec:
  hosts: [shop.example.com]
  gateways: [istio-system/gw]
  http:
  - name: team
    match: [{uri: {prefix: /cart/team}}, {uri: {prefix: /cart}, headers: {x-team: {exact: "yes"}}}]
    route: [{destination: {host: old.app.svc.cluster.local, port: {number: 80}}}]
`,
}

// TestCanaryNextToOthers: another team's requests go where those without sessions go, with sessions too.
func TestCanaryNextToOthers(t *testing.T) {
	for route, team := range teams {
		for _, filter := range []string{"wasm", "native"} {
			t.Run(route+" "+filter, func(t *testing.T) {
				c := split{route: route, filter: filter, weights: [3]int{40, 40, 20}, input: func(text string) string { return text + team }}.start(t)
				c.begin(t)
				for range rounds {
					for path, header := range map[string]string{"/cart/team": "x-none: none", "/cart/add": "x-team: yes"} {
						for _, one := range []*client{c.sessions["v2"], c.newClient()} {
							if a := one.request(t, path, header); c.of[a.backend] != "old" || a.cookie != "" {
								t.Fatalf("%s with %s and cookies %v went to %q, cookie %q", path, header, one.jar, a.backend, a.cookie)
							}
						}
					}
				}
				c.checkKept(t, "beside the other team's route", allVersions...)
			})
		}
	}
}

// TestCanaryTakenOut takes v2 out of the rule: its sessions go by the weights without an error, and one that waits is there again when v2
// is back. The others stay. Copies for v2 that are objects of their own stay too, as they do until they are pruned.
func TestCanaryTakenOut(t *testing.T) {
	weights := [3]int{40, 40, 20}
	eachCanary(t, split{weights: weights}, func(t *testing.T, c *canary) {
		c.begin(t)
		whole, part, waits := c.deployment, c.deployment, c.newClient()
		waits.jar["cart"] = c.sessions["v2"].jar["cart"]
		part.input = swap(t, part.input, canaryRef(c.route, "v2", weights[1])+", ", "")
		c.apply(t, part)
		c.awaitWeights(t, [3]int{40, 0, 20})
		var on string
		eventually(t, "the session has left v2", func() bool {
			a := c.sessions["v2"].request(t, "/cart/add")
			if on = a.backend; a.status != http.StatusOK {
				t.Fatalf("status %d for a session whose backend is out of the rule", a.status)
			}
			return c.of[on] != "v2"
		})
		for range rounds {
			if a := c.sessions["v2"].request(t, "/cart/add"); a.backend != on || a.cookie != "" {
				t.Fatalf("a session that went to %s is on %q, status %d, cookie %q", on, a.backend, a.status, a.cookie)
			}
		}
		c.checkKept(t, "while a backend is out of the rule", "v1", "old")
		c.apply(t, whole)
		c.sessions["v2"] = waits
		eventually(t, "the session that waited is in v2", func() bool {
			for range rounds {
				one := c.newClient()
				one.jar["cart"] = waits.jar["cart"]
				if c.of[one.request(t, "/cart/add").backend] != "v2" {
					return false
				}
			}
			return true
		})
		c.checkKept(t, "when it is back in the rule", allVersions...)
	})
}

// apply gives the cluster the user's route, and what limpet writes for it.
func (c *canary) apply(t *testing.T, d deployment) {
	t.Helper()
	if c.route == "HTTPRoute" {
		c.updateRoute(t, d.input)
	}
	c.push(t, d)
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
