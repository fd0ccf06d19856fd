package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// hotHosts is a limpet that follows its documents, "run" or "serve", and an Envoy of it.
type hotHosts struct {
	*harness.Watching
	envoy *harness.Envoy
}

// hotHostsBy starts either on the same documents.
var hotHostsBy = map[string]func(testing.TB, harness.Documents, ...string) *hotHosts{
	"run": func(t testing.TB, documents harness.Documents, flags ...string) *hotHosts {
		w := harness.RunWatching(t, documents, harness.NewRing("k"), flags...)
		return &hotHosts{w, w.Envoy(t)}
	},
	"serve": func(t testing.TB, documents harness.Documents, flags ...string) *hotHosts {
		s := harness.Serve(t, documents, harness.NewRing("k"), flags...)
		envoy := s.Bootstrap(t, "--admin=all").Start(t)
		s.AwaitAcknowledged(t)
		return &hotHosts{s.Watching, envoy}
	},
}

// hostPolicy is a policy on the Service "pods".
func hostPolicy(spec string) string {
	return "apiVersion: limpet.dev/v1alpha1\nkind: LoadBalancerPolicy\nmetadata: {name: pods, namespace: default}\n" +
		"spec:\n  targetRefs: [{group: \"\", kind: Service, name: pods}]\n  " + spec + "\n"
}

// set changes the policy, and waits until all of Envoy has it.
func (h *hotHosts) set(t *testing.T, change func(*harness.Documents)) {
	t.Helper()
	h.Set(t, change)
	time.Sleep(mergeWindow)
}

// begin begins sessions, and says how many are on each host.
func (h *hotHosts) begin(t *testing.T, path string, count int) map[string]int {
	t.Helper()
	return spread(t, h.envoy.Stranger(), path, count)
}

// TestHotHostPolicies brings, changes and takes away everything that a policy says of hosts, and zones, while sessions are in use: no
// request fails and no session moves by the change itself; what it says holds for those that begin, and for the sessions of a host that is
// not well.
//
// requirements: S80, S81, S82, S84, S85
func TestHotHostPolicies(t *testing.T) {
	t.Parallel()
	for name, start := range hotHostsBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pods := harness.Backends(t, "a", "b", "c")
			pods[0].Zone, pods[1].Zone, pods[2].Zone = "here", "here", "there"
			h := start(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), "--zone", "here")
			clients := harness.NewClients(t, 9, func(int) func() (harness.Response, error) {
				return harness.Getter(h.envoy.Client(), "/cart", quietly)
			})
			clients.Every = 20 * time.Millisecond
			tally := clients.During(func() {
				for _, spec := range []string{
					"healthCheck: {interval: 1s, timeout: 5s, http: {path: /ready}}",
					"healthCheck: {interval: 1s, timeout: 5s, http: {path: /ready}}\n  outlierDetection: {consecutive5xxErrors: 3, interval: 1s}",
					"outlierDetection: {consecutive5xxErrors: 7}\n  limits: {maxConnections: 50}",
					"strategy: WeightedLeastRequest\n  slowStart: {window: 5s}\n  limits: {maxConnections: 60}",
				} {
					h.set(t, func(d *harness.Documents) { d.More = hostPolicy(spec) })
				}
				h.set(t, func(d *harness.Documents) { d.More = ""; d.Services[0].TrafficDistribution = "PreferClose" })
				if began := h.begin(t, "/cart", 20); began["c"] > 0 || began["a"] == 0 || began["b"] == 0 {
					t.Errorf("in Envoy's zone are a and b, and sessions began on %v", began)
				}
				h.set(t, func(d *harness.Documents) { d.Services[0].TrafficDistribution = "" })
				if began := h.begin(t, "/cart", 30); began["c"] == 0 {
					t.Errorf("without a preference sessions began on %v", began)
				}
			})
			if tally.Failed() > 0 || tally.Moved() > 0 {
				t.Errorf("%v", tally)
			}
			h.checkUnwell(t, pods)
		})
	}
}

// checkUnwell brings a health check: the sessions of the host that fails it move then, and no others.
func (h *hotHosts) checkUnwell(t *testing.T, pods []*harness.Backend) {
	t.Helper()
	var clients []*harness.Client
	var homes []string
	for range 9 {
		client := h.envoy.Client()
		clients, homes = append(clients, client), append(homes, stay(t, client, "/cart", 2))
	}
	pods[2].Break(harness.FaultUnready)
	if began := h.begin(t, "/cart", 30); began["c"] == 0 {
		t.Errorf("nothing asks hosts yet, and sessions began on %v", began)
	}
	h.set(t, func(d *harness.Documents) {
		d.More = hostPolicy("healthCheck: {interval: 1s, timeout: 5s, unhealthyThreshold: 1, http: {path: /ready}}")
	})
	eventually(t, "no session begins on c, which is not well", func() bool { return h.begin(t, "/cart", 20)["c"] == 0 })
	for i, client := range clients {
		if now := stay(t, client, "/cart", 3); (now != homes[i]) != (homes[i] == "c") {
			t.Errorf("a session of %s is on %s", homes[i], now)
		}
	}
}

// namedHosts are documents with hosts behind the name localhost: an ExternalName, an EndpointSlice and an XBackend.
const namedHosts = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: named, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - {matches: [{path: {value: /outside}}], backendRefs: [{name: outside, port: %[1]d}], sessionPersistence: {sessionName: outside}}
  - {matches: [{path: {value: /sliced}}], backendRefs: [{name: sliced, port: 80}], sessionPersistence: {sessionName: sliced}}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: v1
kind: Service
metadata: {name: sliced, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: sliced, namespace: default, labels: {kubernetes.io/service-name: sliced}}
addressType: FQDN
ports: [{name: http, port: %[1]d}]
endpoints: [{addresses: [localhost]}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: outside, namespace: default}
spec: {type: ExternalHostname, port: {number: %[1]d}, externalHostname: {hostname: localhost}, protocol: HTTP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: external, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /external}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: outside}]
`

// TestHotNames brings hosts behind a name, gives them another port, and takes them away, while sessions of other hosts are in use: all of
// that holds as soon as it is live, and the sessions of a name stay while the name does.
//
// requirements: S83
func TestHotNames(t *testing.T) {
	t.Parallel()
	for name, start := range hotHostsBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := harness.NewBackend(t, "first"), harness.NewBackend(t, "second")
			h := start(t, harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods")), "--external-names", "localhost")
			clients := harness.NewClients(t, 6, func(int) func() (harness.Response, error) {
				return harness.Getter(h.envoy.Client(), "/cart", quietly)
			})
			clients.Every = 20 * time.Millisecond
			tally := clients.During(func() {
				for _, host := range []*harness.Backend{first, second} {
					h.set(t, func(d *harness.Documents) { d.More = fmt.Sprintf(namedHosts, host.Port()) })
					h.checkNames(t, host.Name)
				}
				h.set(t, func(d *harness.Documents) { d.More = "" })
				if got := h.envoy.Stranger().Get(t, "/outside"); got.Backend != "" {
					t.Errorf("a name that is gone: %d from %q", got.Status, got.Backend)
				}
			})
			if tally.Failed() > 0 || tally.Moved() > 0 {
				t.Errorf("%v", tally)
			}
		})
	}
}

// checkNames holds that all names lead to a host, with sessions where rules have them.
func (h *hotHosts) checkNames(t *testing.T, host string) {
	t.Helper()
	for _, path := range []string{"/outside", "/sliced", "/external"} {
		eventually(t, path+" leads to "+host, func() bool { return h.envoy.Stranger().Get(t, path).Backend == host })
		client := h.envoy.Client()
		begun := visit(t, client, path)
		if session := strings.TrimPrefix(path, "/"); slices.Contains([]string{"outside", "sliced"}, session) {
			wantToken(t, begun, session)
			wantNoToken(t, visit(t, client, path), session)
		}
		stay(t, client, path, 4)
	}
}
