package istio

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
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

// canaryRoute is the route, with its Gateway.
func canaryRoute(kind string, port int, weights [3]int) string {
	var refs []string
	for i, v := range versions {
		form := "{name: %s, port: 80, weight: %d}"
		if kind == "VirtualService" {
			form = "{destination: {host: %s.app.svc.cluster.local, port: {number: 80}}, weight: %d}"
		}
		refs = append(refs, fmt.Sprintf(form, v.name, weights[i]))
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

// find gives what limpet wrote of a kind.
func (c *canary) find(kind string) []object {
	return slices.DeleteFunc(slices.Clone(c.written), func(o object) bool { return o["kind"] != kind })
}

// weigh changes the weights of the split in the cluster, as a rollout controller does: limpet has no part in it.
func (c *canary) weigh(t *testing.T, weights [3]int) {
	t.Helper()
	if c.route == "VirtualService" {
		written := c.find(c.route)
		for _, one := range written[0]["spec"].(object)["http"].([]any) {
			if rule := one.(object); rule["name"] == "cart" {
				for i, ref := range rule["route"].([]any) {
					ref.(object)["weight"] = weights[i]
				}
			}
		}
		c.update(t, dump(t, written))
		return
	}
	for _, o := range documents(t, canaryRoute("HTTPRoute", c.port, weights)) {
		if o["kind"] == "HTTPRoute" {
			route := convert[gatewayv1.HTTPRoute](t, o)
			_, err := c.server.KubeClient().GatewayAPI().GatewayV1().HTTPRoutes("app").Update(context.Background(), &route, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func convert[T any](t *testing.T, o object) (value T) {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err == nil {
		err = yaml.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// scale changes how many hosts a version has, and how many of them drain.
func (c *canary) scale(t *testing.T, version, hosts, draining int) {
	t.Helper()
	for _, o := range documents(t, versionDocuments(version, c.backends[0].port(), hosts, draining)) {
		if o["kind"] == "EndpointSlice" {
			slice := convert[discoveryv1.EndpointSlice](t, o)
			_, err := c.server.KubeClient().Kube().DiscoveryV1().EndpointSlices("app").Update(context.Background(), &slice, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// tally counts where so many requests of new clients went, by versions; what is no answer of a host counts for no version.
func (c *canary) tally(t *testing.T, n int, headers ...string) map[string]int {
	t.Helper()
	on := map[string]int{}
	for range n {
		on[c.of[c.fresh().request(t, "/cart/add", headers...).backend]]++
	}
	return on
}

// begin opens a session in each version.
func (c *canary) begin(t *testing.T) {
	t.Helper()
	c.sessions = map[string]*client{}
	eventually(t, "a session is in each version", func() bool {
		one := c.fresh()
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

// settles waits until new sessions go where the weights say.
func (c *canary) settles(t *testing.T, weights [3]int) {
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

// TestCanaryWeights has sessions at each version through random weights, 0 and 100 among them, which change in the cluster alone.
func TestCanaryWeights(t *testing.T) {
	first := [3]int{60, 30, 10}
	eachCanary(t, split{weights: first}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkShares(t, first)
		random := rand.New(rand.NewPCG(36, 36))
		for i := range changes() {
			part := random.IntN(101)
			weights := [][3]int{{0, 100, 0}, {100, 0, 0}, {0, 0, 100}, {part, 100 - part, 0}}[i%4]
			c.weigh(t, weights)
			c.checkKept(t, "while weights change", allVersions...)
			if i < 4 {
				c.settles(t, weights)
				c.checkKept(t, fmt.Sprint("at ", weights), allVersions...)
			}
		}
	})
}

// changes is how often weights change; 200 times with LIMPET_LONG.
func changes() int {
	if os.Getenv("LIMPET_LONG") != "" {
		return 200
	}
	return 50
}

// TestCanaryBackends scales a version to no host and back: the others' sessions stay, its own get one error at the most and go by the
// weights. Hosts that drain keep their sessions. And a host that is lost leaves its sessions to another of its version.
func TestCanaryBackends(t *testing.T) {
	weights := [3]int{40, 40, 20}
	eachCanary(t, split{weights: weights}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.weigh(t, [3]int{50, 50, 0})
		c.settles(t, [3]int{50, 50, 0})
		c.scale(t, 2, 0, 0)
		eventually(t, "Envoy has no host of the version", func() bool { return c.served(t, c.backends[4]) == 0 })
		c.checkKept(t, "while a version has no host", "v1", "v2")
		c.checkOneError(t, "old")
		c.checkKept(t, "after the error", "v1", "v2")
		c.scale(t, 2, 1, 0)
		c.weigh(t, weights)
		c.settles(t, weights)
		c.begin(t)
		c.checkKept(t, "when it is back", allVersions...)
		c.checkDrains(t)
		at := c.sessions["v2"].request(t, "/cart/add").backend
		c.holder(t, at).server.Close()
		for range rounds {
			if a := c.sessions["v2"].request(t, "/cart/add"); a.status != http.StatusOK || c.of[a.backend] != "v2" || a.backend == at {
				t.Fatalf("a session of a lost host in v2: status %d from %s", a.status, a.backend)
			}
		}
		c.checkKept(t, "when a host is lost", "v1", "old")
	})
}

// checkDrains has a host of v1 drain: its session stays, no new one goes there.
func (c *canary) checkDrains(t *testing.T) {
	t.Helper()
	const at = "127.0.0.3"
	var one *client
	eventually(t, "a session is on the host", func() bool {
		one = c.fresh()
		return strings.HasPrefix(one.request(t, "/cart/add").backend, at+":")
	})
	c.scale(t, 0, 2, 1)
	eventually(t, "new sessions avoid the host", func() bool {
		for host := range c.spread(t, "/cart/add") {
			if strings.HasPrefix(host, at+":") {
				return false
			}
		}
		return true
	})
	for range rounds {
		if a := one.request(t, "/cart/add"); !strings.HasPrefix(a.backend, at+":") || a.cookie != "" {
			t.Fatalf("a session of a host that drains: status %d from %s, cookie %q", a.status, a.backend, a.cookie)
		}
	}
	c.scale(t, 0, 2, 0)
}

// TestCanaryWithoutAService takes the Service of a version away and brings it back: Istio has no cluster for its copy meanwhile.
func TestCanaryWithoutAService(t *testing.T) {
	weights := [3]int{40, 40, 20}
	eachCanary(t, split{weights: weights}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.weigh(t, [3]int{50, 50, 0})
		c.settles(t, [3]int{50, 50, 0})
		services := c.server.KubeClient().Kube().CoreV1().Services("app")
		gone, err := services.Get(context.Background(), "old", metav1.GetOptions{})
		if err == nil {
			err = services.Delete(context.Background(), "old", metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "Envoy has no cluster of the version", func() bool {
			return !strings.Contains(c.envoy.get(t, "/clusters"), "outbound|80||old.app.svc.cluster.local::")
		})
		c.checkKept(t, "without the Service", "v1", "v2")
		c.checkOneError(t, "old")
		gone.ResourceVersion = ""
		if _, err := services.Create(context.Background(), gone, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.weigh(t, weights)
		c.settles(t, weights)
		c.checkKept(t, "when it is back", "v1", "v2")
		c.begin(t)
		c.checkKept(t, "with sessions at all", allVersions...)
	})
}

// checkOneError wants a session of a version without hosts to go on in another after one error.
func (c *canary) checkOneError(t *testing.T, version string) {
	t.Helper()
	wrong, on := 0, map[string]bool{}
	for range 2 * rounds {
		if a := c.sessions[version].request(t, "/cart/add"); a.status == http.StatusOK {
			on[a.backend] = true
		} else {
			wrong++
		}
	}
	if wrong > 1 || len(on) != 1 {
		t.Errorf("%d requests had errors, and then the session went to %v", wrong, on)
	}
}

const leadHeader = "X-Limpet-Pin-Backend"

// leadOf is the value that leads to a version, which limpet tells the filter: CLUSTER VALUE.
func (c *canary) leadOf(t *testing.T, version string) string {
	t.Helper()
	found := regexp.MustCompile(`outbound\|80\|\|` + version + `\.\S+ ([0-9a-f]{16})`).FindStringSubmatch(dump(t, c.written))
	if found == nil {
		t.Fatalf("no lead to %s", version)
	}
	return found[1]
}

// denied lets nobody to the cart.
const denied = `
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: nobody, namespace: istio-system}
spec:
  selector: {matchLabels: {istio: ingressgateway}}
  action: DENY
  rules: [{to: [{operation: {paths: ["/cart*"]}}]}]
`

// TestCanaryIsClosed has clients name a version of weight 0 in the header that leads sessions: with the filter and without it no request
// gets there, unless limpet's early fence is away too; and what is denied is denied with the header too.
func TestCanaryIsClosed(t *testing.T) {
	s := split{weights: [3]int{50, 50, 0}}
	for _, c := range []struct {
		name   string
		change func([]object) []object
		leads  bool
	}{
		{"with the filter", nil, false},
		{"without the filter", withoutFilter, false},
		{"without the fence", withoutPatch("NETWORK_FILTER", "early_header_mutation"), false},
		{"without either", func(all []object) []object {
			return withoutPatch("NETWORK_FILTER", "early_header_mutation")(withoutFilter(all))
		}, true},
	} {
		s.change = c.change
		for _, s.route = range []string{"HTTPRoute", "VirtualService"} {
			for _, s.filter = range []string{"wasm", "native"} {
				t.Run(s.route+" "+s.filter+" "+c.name, func(t *testing.T) { s.start(t).checkClosed(t, c.leads) })
			}
		}
	}
}

// checkClosed wants the header that leads to a version of weight 0 to lead there, or not, and to be no way around what is denied.
func (c *canary) checkClosed(t *testing.T, leads bool) {
	t.Helper()
	to := leadHeader + ": " + c.leadOf(t, "old")
	if on := c.tally(t, rounds, to); leads != (on["old"] > 0) {
		t.Errorf("a client that chooses a version of weight 0 gets to %v", on)
	}
	c.deny(t)
	if on := c.tally(t, rounds, to); on[""] != rounds {
		t.Errorf("a client that chooses a version gets to %v, which is denied", on)
	}
}

// deny lets nobody to the cart from now on.
func (c *canary) deny(t *testing.T) {
	t.Helper()
	for _, one := range configs(t, denied) {
		if _, err := c.server.Store().Create(one); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the cart is denied", func() bool { return c.fresh().request(t, "/cart/add").status == http.StatusForbidden })
}

// TestCanaryIsClosedUnloaded has Envoy refuse the module: under FAIL_OPEN too the gateway then answers 500, whoever asks. (Istio's agent
// fetches modules itself, and takes the plugin away where it can't; and Envoy takes no listener whose native filter it can't load.)
func TestCanaryIsClosedUnloaded(t *testing.T) {
	for _, route := range []string{"HTTPRoute", "VirtualService"} {
		t.Run(route, func(t *testing.T) {
			c := &canary{}
			c.world = start(t, split{route: route, filter: "wasm", weights: [3]int{50, 50, 0}, change: unloaded}.deploy(t, c))
			eventually(t, "an answer", func() bool {
				a, err := c.fresh().try("/plain")
				return err == nil && a.status == http.StatusInternalServerError
			})
			if on := c.tally(t, rounds, leadHeader+": "+c.leadOf(t, "old")); on[""] != rounds {
				t.Errorf("without the plugin a client gets to %v", on)
			}
		})
	}
}

// unloaded has the plugin be no module at all, and requests pass without it.
func unloaded(all []object) []object {
	for _, o := range all {
		if o["kind"] == "WasmPlugin" {
			spec := o["spec"].(object)
			spec["url"], spec["failStrategy"] = "file:///proc/self/status", "FAIL_OPEN"
			delete(spec, "sha256")
		}
	}
	return all
}

// withoutFilter takes the filter away, wasm or native.
func withoutFilter(all []object) []object {
	return withoutPatch("HTTP_FILTER", "limpet.native")(withoutKind("WasmPlugin")(all))
}

// TestCanaryIsAuthorized: what is denied is denied to sessions that are led to their version too, wherever the plugin stands; and no
// backend sees the header.
func TestCanaryIsAuthorized(t *testing.T) {
	eachCanary(t, split{weights: [3]int{40, 40, 20}}, func(t *testing.T, c *canary) {
		c.begin(t)
		c.checkKept(t, "before", allVersions...)
		for _, b := range c.backends {
			if n := b.leads.Load(); n > 0 {
				t.Errorf("%s saw the header %d times", b.address, n)
			}
		}
		c.deny(t)
		for name, session := range c.sessions {
			for range rounds {
				if a := session.request(t, "/cart/add"); a.status != http.StatusForbidden {
					t.Fatalf("a session in %s gets status %d from %s", name, a.status, a.backend)
				}
			}
		}
	})
}
