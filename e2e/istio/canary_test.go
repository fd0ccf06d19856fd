package istio

import (
	"fmt"
	"strings"
	"testing"
)

// versions are the versions of a canary, and how many hosts each has.
var versions = []struct {
	name  string
	hosts int
}{{"v1", 2}, {"v2", 2}, {"old", 1}}

// canary is a running split with its sessions, of one of two kinds of routes.
type canary struct {
	*world
	route string // the kind
	// of has the version of each host, by its address.
	of map[string]string
	// written has what limpet wrote.
	written []object
	// sessions are clients with sessions, by their versions.
	sessions map[string]*client
}

// split is a canary to start.
type split struct {
	route, filter string // the kind of its route, and wasm or native
	weights       [3]int
	// policy is more of the policy's spec.
	policy string
	// input edits the documents, and change is as in a deployment; nil for none.
	input  func(string) string
	change func([]object) []object
}

// eachCanary starts a split with each filter on each kind of route.
func eachCanary(t *testing.T, s split, test func(*testing.T, *canary)) {
	t.Helper()
	for _, s.route = range []string{"HTTPRoute", "VirtualService"} {
		for _, s.filter = range []string{"wasm", "native"} {
			t.Run(s.route+" "+s.filter, func(t *testing.T) { test(t, s.start(t)) })
		}
	}
}

// start starts it.
func (s split) start(t *testing.T) *canary {
	t.Helper()
	c := &canary{}
	c.world = run(t, s.deploy(t, c))
	return c
}

// deploy makes the deployment of a canary.
func (s split) deploy(t *testing.T, c *canary) deployment {
	t.Helper()
	c.route, c.of = s.route, map[string]string{}
	d := deployment{port: freePort(t), backends: loopbacks(t, 5), flags: []string{"--keys", keyFile(t, "old")}}
	for i, b := range d.backends {
		c.of[b.address] = []string{"v1", "v1", "v2", "v2", "old"}[i]
	}
	if s.filter == "native" {
		d.goNative(t, "liblimpet.so")
	}
	d.input = canaryInput(d.port, d.backends[0].port(), s.route, s.weights, s.policy)
	if s.input != nil {
		d.input = s.input(d.input)
	}
	d.change = func(all []object) []object {
		c.written = documents(t, dump(t, all)) // as it was before a change
		if s.change != nil {
			return s.change(all)
		}
		return append(all, object{"kind": "ConfigMap", "apiVersion": "v1", "metadata": object{"name": "none", "namespace": "app"}})
	}
	return d
}

// canaryInput is a shop whose cart has a session over the three versions; spec is more of its policy's.
func canaryInput(port, target int, route string, weights [3]int, spec string) string {
	text := ingress(port) + bindLoopback + canaryRoute(route, port, weights)
	for i, v := range versions {
		text += versionDocuments(i, target, v.hosts, 0)
	}
	of := "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop, sectionName: cart}"
	if route == "VirtualService" {
		of = ofVirtualService
	}
	return text + policy(of, spec)
}

// versionDocuments are a version's Service and so many of its hosts, of which the last drain.
func versionDocuments(version, target, hosts, draining int) string {
	var all []endpoint
	for host := range hosts {
		all = append(all, endpoint{ip: fmt.Sprintf("127.0.0.%d", 2+2*version+host), draining: host >= hosts-draining})
	}
	name := versions[version].name
	return fmt.Sprintf(`
---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: app, labels: {istio.io/persistent-session: limpet}}
spec: {clusterIP: 10.0.1.%d, ports: [{name: http, port: 80, targetPort: %d}]}
`, name, version+1, target) + endpointSlice("app", name, target, all)
}

// canaryRef is a reference of the route to a version.
func canaryRef(kind, version string, weight int) string {
	if kind == "VirtualService" {
		return fmt.Sprintf("{destination: {host: %s.app.svc.cluster.local, port: {number: 80}}, weight: %d}", version, weight)
	}
	return fmt.Sprintf("{name: %s, port: 80, weight: %d}", version, weight)
}

// canaryRoute is the route, with its Gateway.
func canaryRoute(kind string, port int, weights [3]int) string {
	var refs []string
	for i, v := range versions {
		refs = append(refs, canaryRef(kind, v.name, weights[i]))
	}
	if kind == "VirtualService" {
		return istioShop(port, strings.Join(refs, ", "), "{destination: {host: v1.app.svc.cluster.local, port: {number: 80}}}")
	}
	return fmt.Sprintf(`
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gate, namespace: istio-system}
spec:
  gatewayClassName: istio
  addresses: [{type: Hostname, value: ingress.istio-system.svc.cluster.local}]
  listeners: [{name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: app}
spec:
  parentRefs: [{name: gate, namespace: istio-system}]
  hostnames: [shop.example.com]
  rules:
  - name: cart
    matches: [{path: {value: /cart}}, {path: {value: /basket}}]
    backendRefs: [%s]
  - backendRefs: [{name: v1, port: 80}]
`, strings.Join(refs, ", "))
}

// weigh changes the weights of the split in the cluster, as a rollout controller does: limpet has no part in it.
func (c *canary) weigh(t *testing.T, weights [3]int) {
	t.Helper()
	if c.route == "VirtualService" {
		c.weighVirtual(t, c.written, weights[:]...)
		return
	}
	c.updateRoute(t, canaryRoute("HTTPRoute", c.port, weights))
}

// weighVirtual changes the weights of the cart in the VirtualService that limpet wrote.
func (m *world) weighVirtual(t *testing.T, written []object, weights ...int) {
	t.Helper()
	for _, o := range written {
		if o["kind"] != "VirtualService" {
			continue
		}
		for _, one := range o["spec"].(object)["http"].([]any) {
			if rule := one.(object); rule["name"] == "cart" {
				for i, ref := range rule["route"].([]any) {
					ref.(object)["weight"] = weights[i]
				}
			}
		}
		m.update(t, dump(t, []object{o}))
	}
}

// updateRoute changes the user's HTTPRoute in the cluster.
func (m *world) updateRoute(t *testing.T, text string) {
	t.Helper()
	routes := m.server.KubeClient().GatewayAPI().GatewayV1().HTTPRoutes("app")
	updateObject(t, text, "HTTPRoute", "app/shop", routes.Update)
}

// scale changes how many hosts a version has, and how many of them drain.
func (c *canary) scale(t *testing.T, version, hosts, draining int) {
	t.Helper()
	c.endpoints(t, versions[version].name, versionDocuments(version, c.backends[0].port(), hosts, draining))
}

// tally counts where so many requests of new clients went, by versions; what is no answer of a host counts for no version.
func (c *canary) tally(t *testing.T, n int, headers ...string) map[string]int {
	t.Helper()
	on := map[string]int{}
	for range n {
		on[c.of[c.newClient().request(t, "/cart/add", headers...).backend]]++
	}
	return on
}

// begin opens a session in each version.
func (c *canary) begin(t *testing.T) {
	t.Helper()
	c.sessions = map[string]*client{}
	eventually(t, "a session is in each version", func() bool {
		one := c.newClient()
		if version := c.of[one.request(t, "/cart/add").backend]; version != "" {
			c.sessions[version] = one
		}
		return len(c.sessions) == len(versions)
	})
}

// checkKept wants the sessions in their versions, on every request and without a new token.
func (c *canary) checkKept(t *testing.T, when string, names ...string) {
	t.Helper()
	for _, name := range names {
		for i := range 10 {
			path := []string{"/cart/add", "/basket"}[i%2]
			if a := c.sessions[name].request(t, path); c.of[a.backend] != name || a.cookie != "" {
				t.Errorf("%s: %s of a session in %s: status %d from %s, cookie %q", when, path, name, a.status, c.of[a.backend], a.cookie)
			}
		}
	}
}

// awaitWeights waits until new sessions go where the weights say.
func (c *canary) awaitWeights(t *testing.T, weights [3]int) {
	t.Helper()
	eventually(t, fmt.Sprintf("new sessions go by %v", weights), func() bool {
		on := c.tally(t, 60)
		for i, v := range versions {
			if weights[i] == 0 && on[v.name] > 0 || weights[i] >= 20 && on[v.name] == 0 {
				return false
			}
		}
		return on[""] == 0
	})
}

// checkShares wants 3,000 new sessions to be spread by the weights: chi-squared with two degrees of freedom is above 27.6 once in a
// million.
func (c *canary) checkShares(t *testing.T, weights [3]int) {
	t.Helper()
	const all = 3000
	on, chi := c.tally(t, all), 0.0
	for i, v := range versions {
		want := float64(all*weights[i]) / 100
		chi += (float64(on[v.name]) - want) * (float64(on[v.name]) - want) / want
	}
	if chi > 27.6 || on[""] > 0 {
		t.Errorf("%d new sessions by %v went to %v: chi-squared %.1f", all, weights, on, chi)
	}
}

var allVersions = []string{"v1", "v2", "old"}
