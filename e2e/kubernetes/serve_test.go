package kubernetes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// shop is a Gateway with a route that keeps sessions, and the Service that it leads to.
const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: PORT}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: default}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - name: cart
    sessionPersistence: {sessionName: CART}
    matches: [{path: {value: /cart}}]
    backendRefs: [{name: cart, port: 80}]
`

// slice is the Service's EndpointSlice with pods of these addresses.
func slice(addresses ...string) string { return sliceOf("cart", "default", addresses...) }

// sliceOf is the EndpointSlice of a Service of some namespace.
func sliceOf(service, namespace string, addresses ...string) string {
	text := fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, namespace: %s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints:
`, service, namespace)
	for _, a := range addresses {
		text += fmt.Sprintf("- addresses: [%s]\n", a)
	}
	return text
}

// startPods starts a backend at each address, named after it.
func startPods(t *testing.T, addresses ...string) {
	t.Helper()
	for _, a := range addresses {
		harness.NewBackendAt(t, a, a+":8080")
	}
}

// patience is how long what must come may take, on a machine that is busy.
const patience = 5 * time.Minute

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// condition gives a condition of an object, or of an entry of its status' list: status and reason, and whether it is out of date.
func condition(o *unstructured.Unstructured, kind string, path ...string) string {
	if o == nil {
		return "no object"
	}
	c := findCondition(o, kind, path...)
	if c == nil {
		return "no condition"
	}
	text := fmt.Sprintf("%v %v", c["status"], c["reason"])
	if c["observedGeneration"] != o.GetGeneration() {
		text += " of before"
	}
	return text
}

// findCondition finds it; nil for none.
func findCondition(o *unstructured.Unstructured, kind string, path ...string) map[string]any {
	entries := []any{o.Object["status"]}
	if len(path) > 0 {
		entries, _, _ = unstructured.NestedSlice(o.Object, path...)
	}
	for _, e := range entries {
		fields, _ := e.(map[string]any)
		list, _ := fields["conditions"].([]any)
		for _, one := range list {
			if c, _ := one.(map[string]any); c["type"] == kind {
				return c
			}
		}
	}
	return nil
}

// message gives the words of a condition of an object.
func message(o *unstructured.Unstructured, kind string) (text string) {
	text, _ = findCondition(o, kind)["message"].(string)
	return text
}

// hasEvent tells whether there is a warning of an object, with a reason and some words.
func (c *cluster) hasEvent(t *testing.T, name, reason, words string) bool {
	t.Helper()
	return slices.ContainsFunc(c.list(t, object("events.k8s.io/v1", "Event", "default", "")), func(e unstructured.Unstructured) bool {
		of, _, _ := unstructured.NestedString(e.Object, "regarding", "name")
		note, _ := e.Object["note"].(string)
		return of == name && e.Object["reason"] == reason && e.Object["type"] == "Warning" && strings.Contains(note, words)
	})
}

// shopAt are the objects of the shop, whose Gateway listens on a port.
func shopAt(port int) string { return strings.ReplaceAll(shop, "PORT", fmt.Sprint(port)) }

// openShop starts a control plane with the shop on a free port, and its pods.
func openShop(t *testing.T, addresses ...string) (c *cluster, port int) {
	t.Helper()
	c, port = startCluster(t), harness.FreePort(t)
	startPods(t, addresses...)
	c.set(t, shopAt(port))
	c.set(t, slice(addresses...))
	return c, port
}

// TestServe follows an API server's objects: sessions stick, statuses are written once and then left alone, and what changes
// is live, kinds that come and go included.
func TestServe(t *testing.T) {
	c := startCluster(t)
	startPods(t, "10.244.0.1", "10.244.0.2", "10.244.0.3")
	port := harness.FreePort(t)
	c.set(t, shopAt(port))
	c.set(t, slice("10.244.0.1", "10.244.0.2"))
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend
	for range 10 {
		if at := client.Get(t, "/cart").Backend; at != home {
			t.Fatalf("the session of %s is at %s", home, at)
		}
	}

	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	route := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "cart")
	class := object("gateway.networking.k8s.io/v1", "GatewayClass", "", "limpet")
	for what, is := range map[string]func() bool{
		"the class is accepted":     func() bool { return condition(c.get(t, class), "Accepted") == "True Accepted" },
		"the Gateway is programmed": func() bool { return condition(c.get(t, gateway), "Programmed") == "True Programmed" },
		"the listener has a route": func() bool {
			listeners, _, _ := unstructured.NestedSlice(c.get(t, gateway).Object, "status", "listeners")
			return len(listeners) == 1 && listeners[0].(map[string]any)["attachedRoutes"] == int64(1)
		},
		"the route is accepted": func() bool {
			return condition(c.get(t, route), "Accepted", "status", "parents") == "True Accepted"
		},
	} {
		eventually(t, what, is)
	}

	t.Run("a status is written once", func(t *testing.T) {
		before := c.get(t, route).GetResourceVersion()
		c.set(t, slice("10.244.0.1", "10.244.0.2", "10.244.0.3")) // which changes no status
		eventually(t, "the new pod serves", func() bool { return envoy.Stranger().Get(t, "/cart").Backend == "10.244.0.3" })
		time.Sleep(time.Second)
		if after := c.get(t, route).GetResourceVersion(); after != before {
			t.Errorf("the route was written again: %s, %s", before, after)
		}
		if at := client.Get(t, "/cart").Backend; at != home {
			t.Errorf("the session of %s is at %s", home, at)
		}
	})

	t.Run("a broken route is its owner's", func(t *testing.T) {
		c.set(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: broken, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: nowhere, port: 80}]}]
`)
		broken := object("gateway.networking.k8s.io/v1", "HTTPRoute", "default", "broken")
		eventually(t, "the fault is told", func() bool {
			return strings.HasPrefix(condition(c.get(t, broken), "ResolvedRefs", "status", "parents"), "False BackendNotFound")
		})
		eventually(t, "people hear of it", func() bool { return c.hasEvent(t, "broken", "BackendNotFound", "nowhere") })
		if at := client.Get(t, "/cart").Backend; at != home {
			t.Errorf("the session of %s is at %s", home, at)
		}
		c.remove(t, broken)
	})

	t.Run("a kind comes and goes", func(t *testing.T) {
		policy := `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: cart, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: search}]
  sessionName: SEARCH
`
		c.set(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: search, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /search}}]
    backendRefs: [{name: cart, port: 80}]
`)
		hasSession := func() bool {
			r := envoy.Stranger().Get(t, "/search")
			return r.Status == http.StatusOK && strings.Contains(strings.Join(r.Header["Set-Cookie"], ""), "SEARCH=")
		}
		c.set(t, policy)
		eventually(t, "the policy is in force", hasSession)
		restore := c.removeKind(t, "sessionpersistencepolicies.limpet.dev")
		eventually(t, "the policy is gone with its kind", func() bool { return !hasSession() })
		restore()
		eventually(t, "the policy is taken again", func() bool { return c.apply(t.Context(), policy) == nil })
		eventually(t, "the policy is in force again", hasSession)
		if at := client.Get(t, "/cart").Backend; at != home {
			t.Errorf("the session of %s is at %s", home, at)
		}
	})
}
