package kubernetes

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// The objects of Gateways whose proxies limpet runs. They have a class of their own, for the API server is that of all tests.
const (
	managedClass = `
apiVersion: v1
kind: Namespace
metadata: {name: managed}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: managed}
spec:
  controllerName: limpet.dev/managed
  parametersRef: {group: limpet.dev, kind: ProxyConfig, namespace: managed, name: fleet}
`
	managedGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: managed}
spec:
  gatewayClassName: managed
  infrastructure: {labels: {team: edge, sidecar.istio.io/inject: "true"}, annotations: {example.com/cost: "7"}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
`
	managedRoute = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: managed}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: managed}
spec:
  parentRefs: [{name: edge}]
  rules:
  - name: cart
    sessionPersistence: {sessionName: CART}
    backendRefs: [{name: cart, port: 80}]
`
)

var managedPods = []string{"10.244.30.1", "10.244.30.2", "10.244.30.3"}

const (
	serverName    = "limpet.limpet-system.svc"
	serverAddress = standin.Address + ":18000"
)

// TestManagedProxies: a Gateway is created, and limpet runs its proxies; they are scaled, rolled, evicted and crash while clients send
// requests, none of which fails but those of a crash, and no session is lost. limpet and the keys roll, too.
func TestManagedProxies(t *testing.T) {
	f := newFleet(t)
	defer f.c.remove(t, object("gateway.networking.k8s.io/v1", "Gateway", "managed", "edge"))
	begun := time.Now()
	f.c.set(t, managedGateway+"---"+managedRoute+"---"+sliceOf("cart", "managed", managedPods...))
	at := f.address(t)
	eventually(t, "the route answers", func() bool {
		answer, err := f.ask(at)
		return err == nil && answer.Status == http.StatusOK
	})
	t.Logf("from the Gateway to an answer: %v", time.Since(begun).Round(time.Millisecond))
	f.checkObjects(t)
	eventually(t, "the request is in the log", func() bool { return strings.Contains(f.node.Logs(), `"response_code":200`) })
	f.suffer(t, at, "one proxy becomes five", 4, func() {
		f.setConfig(t, "replicas: 5")
		f.awaitProxies(t, 5)
	})
	f.suffer(t, at, "five proxies become two", 3, func() {
		f.setConfig(t, "replicas: 2")
		f.awaitProxies(t, 2)
	})
	f.suffer(t, at, "a rolling update of two proxies", 2, func() {
		f.setConfig(t, "replicas: 2", "pod: {annotations: {rolled: once}}")
		eventually(t, "the Deployment is another one", func() bool {
			rolled, _, _ := unstructured.NestedString(f.proxies(t).Object, "spec", "template", "metadata", "annotations", "rolled")
			return rolled == "once"
		})
		f.awaitProxies(t, 2)
	})
	f.suffer(t, at, "an eviction of a proxy", 1, func() {
		f.evict(t)
		f.awaitProxies(t, 2)
	})
	f.suffer(t, at, "limpet serve ends and begins again, with a change", 1, func() { f.rollServe(t, at) })
	f.suffer(t, at, "keys rotate at two managed proxies", 2, func() {
		f.setKeys(t, "old", "new")
		f.setKeys(t, "new", "old")
	})
	if logs := f.node.Logs(); strings.Contains(logs, "connections are still open") {
		t.Error("a proxy was not left by its clients while it drained")
	}
}

// TestManagedGateways: what becomes of Gateways and ProxyConfigs is what becomes of the objects that run proxies.
func TestManagedGateways(t *testing.T) {
	f := newFleet(t)
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "managed", "edge")
	is := func(kind, want string) func() bool {
		return func() bool { return condition(f.c.get(t, gateway), kind) == want }
	}

	t.Run("parameters that are not there", func(t *testing.T) {
		f.c.set(t, strings.Replace(managedGateway, "infrastructure: {", "infrastructure: {parametersRef: {group: limpet.dev, kind: ProxyConfig, name: own}, ", 1))
		eventually(t, "the Gateway is not accepted", is("Accepted", "False InvalidParameters"))
		eventually(t, "nor programmed", is("Programmed", "False NoResources"))
		if d := f.proxies(t); d != nil {
			t.Errorf("there are proxies: %v", d)
		}
		f.c.set(t, "apiVersion: limpet.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: own, namespace: managed}\nspec: {service: {type: ClusterIP}}\n")
		eventually(t, "the Gateway is accepted when they come", is("Accepted", "True Accepted"))
		eventually(t, "and programmed", is("Programmed", "True Programmed"))
		service := f.c.get(t, object("v1", "Service", "managed", "edge-managed"))
		at, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
		addresses, _, _ := unstructured.NestedSlice(f.c.get(t, gateway).Object, "status", "addresses")
		if len(addresses) != 1 || addresses[0].(map[string]any)["value"] != at {
			t.Errorf("the Gateway has %v, and its Service %s", addresses, at)
		}
	})

	t.Run("addresses of nodes, and one that is asked for", func(t *testing.T) {
		f.c.set(t, "apiVersion: limpet.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: own, namespace: managed}\nspec: {service: {type: NodePort}}\n")
		first := func() any {
			addresses, _, _ := unstructured.NestedSlice(f.c.get(t, gateway).Object, "status", "addresses")
			if len(addresses) == 0 {
				return nil
			}
			return addresses[0].(map[string]any)["value"]
		}
		eventually(t, "the node's is the Gateway's", func() bool { return first() == standin.Address })
		// while the Gateway has parameters of its own, which have no address to ask for
		f.c.set(t, strings.NewReplacer("infrastructure: {", "infrastructure: {parametersRef: {group: limpet.dev, kind: ProxyConfig, name: own}, ",
			"  listeners", "  addresses: [{type: IPAddress, value: 10.244.201.9}]\n  listeners").Replace(managedGateway))
		eventually(t, "one that it has not got is told of", is("Programmed", "False AddressNotUsable"))
		f.c.set(t, strings.Replace(managedGateway, "  listeners", "  addresses: [{type: IPAddress, value: 10.244.201.9}]\n  listeners", 1))
		eventually(t, "the Gateway has the one that it asks for", func() bool {
			return first() == "10.244.201.9" && is("Programmed", "True Programmed")()
		})
	})

	t.Run("a hand in what is limpet's", func(t *testing.T) {
		f.c.set(t, "apiVersion: v1\nkind: Service\nmetadata: {name: edge-managed, namespace: managed}\nspec: {selector: {limpet.dev/proxies: nothing}}\n")
		eventually(t, "it is taken back", func() bool {
			selector, _, _ := unstructured.NestedString(f.c.get(t, object("v1", "Service", "managed", "edge-managed")).Object, "spec", "selector", "limpet.dev/proxies")
			return selector == "edge-managed"
		})
		service := f.c.get(t, object("v1", "Service", "managed", "edge-managed")).GetResourceVersion()
		deployment := f.proxies(t).GetResourceVersion()
		time.Sleep(2 * time.Second)
		if f.c.get(t, object("v1", "Service", "managed", "edge-managed")).GetResourceVersion() != service || f.proxies(t).GetResourceVersion() != deployment {
			t.Error("objects are written though nothing changes")
		}
	})

	t.Run("what is another's stays another's", func(t *testing.T) {
		f.c.set(t, "apiVersion: v1\nkind: Service\nmetadata: {name: second-managed, namespace: managed}\nspec: {ports: [{port: 1234}]}\n")
		f.c.set(t, strings.Replace(managedGateway, "name: edge,", "name: second,", 1))
		second := object("gateway.networking.k8s.io/v1", "Gateway", "managed", "second")
		eventually(t, "the Gateway says so", func() bool { return condition(f.c.get(t, second), "Programmed") == "False NoResources" })
		o := f.c.get(t, object("v1", "Service", "managed", "second-managed"))
		if ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports"); len(ports) != 1 || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("the Service is %v", o)
		}
		f.c.remove(t, second)
	})

	t.Run("a DaemonSet takes the Deployment's place", func(t *testing.T) {
		f.setConfig(t, "kind: DaemonSet")
		eventually(t, "its proxies are ready, and the others gone", func() bool {
			d := f.c.get(t, object("apps/v1", "DaemonSet", "managed", "edge-managed"))
			return d != nil && f.proxies(t) == nil && is("Programmed", "True Programmed")()
		})
		f.setConfig(t, "autoscaling: {minReplicas: 2, maxReplicas: 4}")
		eventually(t, "a Deployment takes its place", func() bool {
			return f.c.get(t, object("apps/v1", "DaemonSet", "managed", "edge-managed")) == nil
		})
		f.awaitProxies(t, 2)
		if f.c.get(t, object("autoscaling/v2", "HorizontalPodAutoscaler", "managed", "edge-managed")) == nil {
			t.Error("there is no HorizontalPodAutoscaler")
		}
	})

	t.Run("unmanaged, and managed again", func(t *testing.T) {
		f.c.set(t, strings.Replace(managedGateway, "namespace: managed}", `namespace: managed, annotations: {limpet.dev/managed: "false"}}`, 1))
		eventually(t, "its proxies are gone", func() bool { return len(f.listObjects(t)) == 0 })
		f.c.set(t, strings.Replace(managedGateway, "namespace: managed}", `namespace: managed, annotations: {limpet.dev/managed: "true"}}`, 1))
		eventually(t, "they come back", is("Programmed", "True Programmed"))
	})

	t.Run("a Gateway goes", func(t *testing.T) {
		f.c.remove(t, gateway)
		eventually(t, "all that was made for it is gone", func() bool { return len(f.listObjects(t)) == 0 })
	})
}
