package kubernetes

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/node"
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
  infrastructure: {labels: {team: edge}, annotations: {example.com/cost: "7"}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
`
	managedRoute = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: managed}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, namespace: managed, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.244.30.1]}, {addresses: [10.244.30.2]}, {addresses: [10.244.30.3]}]
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

// fleet is a cluster that runs Gateways' proxies, on a node that is this machine.
type fleet struct {
	c       *cluster
	client  *kubernetes.Clientset
	node    *node.Node
	serving *harness.Serving
	args    []string
}

const (
	serverName    = "limpet.limpet-system.svc"
	serverAddress = node.Address + ":18000"
)

// startControllers runs Kubernetes' own controllers and scheduler until the test ends.
func (c *cluster) startControllers(t *testing.T) {
	t.Helper()
	for _, program := range [][]string{
		{
			"kube-controller-manager", "--kubeconfig=kubeconfig", "--service-account-private-key-file=sa.key", "--leader-elect=false",
			"--controllers=*,-nodeipam,-nodelifecycle,-route,-cloud-node-lifecycle", "--bind-address=127.0.0.1",
		},
		{"kube-scheduler", "--kubeconfig=kubeconfig", "--leader-elect=false", "--bind-address=127.0.0.1"},
	} {
		command, err := c.launch(program[0], program[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
	}
}

// newFleet starts all of it, and a Gateway with a route.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	c := startCluster(t)
	client, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	shipped := harness.Find(t)
	f := &fleet{c: c, client: client}
	f.node = node.Start(t, c.config, "node-1", map[string]node.Image{
		"envoy:1":  {Files: map[string]string{"/usr/local/bin/envoy": shipped.Envoy, shipped.Wasm: shipped.Wasm}},
		"limpet:1": {Files: map[string]string{"/usr/local/bin/limpet": shipped.Limpet}, Entrypoint: []string{"limpet"}},
	}, map[string][]string{serverName: {node.Address}})
	c.startControllers(t)
	node.StartBalancer(t, c.config, "10.244.200.")
	startPods(t, "10.244.30.1", "10.244.30.2", "10.244.30.3")
	c.set(t, managedClass)
	folder, authority := t.TempDir(), harness.NewAuthority(t)
	authority.Issue(t, folder, "server", serverName, "")
	f.setConfig(t, "replicas: 1")
	f.args = []string{
		"--system-namespace", "managed", "--controller-name", "limpet.dev/managed", "--bind", "0.0.0.0", "--listen", serverAddress,
		"--tls-cert", filepath.Join(folder, "server.crt"), "--tls-key", filepath.Join(folder, "server.key"), "--client-ca", filepath.Join(folder, "server-ca.crt"), "--token-audience", "limpet.dev",
		"--manage-proxies", "--proxy-image", "envoy:1", "--helper-image", "limpet:1", "--proxy-server", serverName + ":18000",
		"--proxy-ca", filepath.Join(folder, "server-ca.crt"),
	}
	f.serving = harness.ServeCluster(t, c.kubeconfig(), 80, harness.NewRing("k"), f.args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", f.serving.Output(), f.node.Logs())
		}
	})
	return f
}

// setConfig writes the ProxyConfig of the class, with further fields.
func (f *fleet) setConfig(t *testing.T, further ...string) {
	t.Helper()
	f.c.set(t, "apiVersion: limpet.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: fleet, namespace: managed}\nspec:\n"+
		"  concurrency: 1\n  shutdown: {drainTimeout: 20s, minDrain: 1s}\n  "+strings.Join(further, "\n  ")+"\n")
}

// proxies gives the Deployment of the Gateway; nil for none.
func (f *fleet) proxies(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return f.c.get(t, object("apps/v1", "Deployment", "managed", "edge-managed"))
}

// awaitProxies waits until so many proxies are ready, all as the ProxyConfig says now, and no other one is left.
func (f *fleet) awaitProxies(t *testing.T, count int64) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for ; ; time.Sleep(50 * time.Millisecond) {
		d := f.proxies(t)
		pods := f.c.list(t, object("v1", "Pod", "managed", ""))
		is := d != nil && int64(len(pods)) == count
		if is {
			observed, _, _ := unstructured.NestedInt64(d.Object, "status", "observedGeneration")
			wanted, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
			is = observed == d.GetGeneration() && wanted == count
			for _, field := range []string{"replicas", "readyReplicas", "updatedReplicas"} {
				n, _, _ := unstructured.NestedInt64(d.Object, "status", field)
				is = is && n == count
			}
		}
		if is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are not %d proxies: %d Pods, %v", count, len(pods), d)
		}
	}
}

// address is the Gateway's, once it is programmed.
func (f *fleet) address(t *testing.T) string {
	t.Helper()
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "managed", "edge")
	eventually(t, "the Gateway is programmed", func() bool { return condition(f.c.get(t, gateway), "Programmed") == "True Programmed" })
	addresses, _, _ := unstructured.NestedSlice(f.c.get(t, gateway).Object, "status", "addresses")
	if len(addresses) != 1 {
		t.Fatalf("the Gateway has addresses %v", addresses)
	}
	return addresses[0].(map[string]any)["value"].(string) + ":80"
}

// TestManagedProxies: a Gateway is created, and limpet runs its proxies; they are scaled, rolled, evicted and crash while clients send
// requests, none of which fails but those of a crash, and no session is lost. limpet and the keys roll, too.
func TestManagedProxies(t *testing.T) {
	f := newFleet(t)
	begun := time.Now()
	f.c.set(t, managedGateway+"---"+managedRoute)
	at := f.address(t)
	eventually(t, "the route answers", func() bool {
		answer, err := harness.NewClientAt(at).Try(http.MethodGet, "/")
		return err == nil && answer.Status == http.StatusOK
	})
	t.Logf("from the Gateway to an answer: %v", time.Since(begun).Round(time.Millisecond))
	f.checkObjects(t)
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
		f.awaitProxies(t, 2)
	})
	f.suffer(t, at, "an eviction of a proxy", 1, func() {
		f.evict(t)
		f.awaitProxies(t, 2)
	})
	f.suffer(t, at, "limpet serve is rolled: another one begins, and the first ends", 1, func() { f.rollServe(t, at) })
}

// checkObjects holds that all objects are the Gateway's, with what its infrastructure says.
func (f *fleet) checkObjects(t *testing.T) {
	t.Helper()
	owner := f.c.get(t, object("gateway.networking.k8s.io/v1", "Gateway", "managed", "edge"))
	for apiVersion, kinds := range map[string][]string{
		"v1": {"Service", "Secret"}, "apps/v1": {"Deployment"}, "policy/v1": {"PodDisruptionBudget"},
	} {
		for _, kind := range kinds {
			o := f.c.get(t, object(apiVersion, kind, "managed", "edge-managed"))
			if o == nil {
				t.Errorf("there is no %s", kind)
				continue
			}
			if of := metav1.GetControllerOf(o); of == nil || of.UID != owner.GetUID() || o.GetLabels()["team"] != "edge" || o.GetAnnotations()["example.com/cost"] != "7" {
				t.Errorf("%s: owner %v, labels %v, annotations %v", kind, of, o.GetLabels(), o.GetAnnotations())
			}
		}
	}
}

// suffer has something happen under load, of which no client may see anything.
func (f *fleet) suffer(t *testing.T, at, name string, changes int, do func()) {
	t.Helper()
	clients := harness.NewClients(t, 8, func(int) func() (harness.Response, error) { return harness.Getter(harness.NewClientAt(at), "/") })
	clients.Every = 10 * time.Millisecond
	begun := time.Now()
	tally := clients.During(do)
	t.Logf("%s: %v, %v", name, time.Since(begun).Round(time.Millisecond), tally)
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%s: %v", name, tally)
	}
	harness.RecordResult(t, name+" (limpet serve --manage-proxies)", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: changes, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("took %v", time.Since(begun).Round(100*time.Millisecond)),
	})
}

// evict evicts a proxy as kubectl drain does, and waits until it is gone.
func (f *fleet) evict(t *testing.T) {
	t.Helper()
	pod := f.c.list(t, object("v1", "Pod", "managed", ""))[0]
	err := f.client.PolicyV1().Evictions("managed").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.GetName(), Namespace: "managed"}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is gone", func() bool { return f.c.get(t, object("v1", "Pod", "managed", pod.GetName())) == nil })
}

// rollServe starts limpet anew where it was, and has a change go through it.
func (f *fleet) rollServe(t *testing.T, at string) {
	t.Helper()
	f.serving.Signal(t, syscall.SIGTERM)
	f.serving.Kill(t)
	f.serving.ServeAgain(t)
	f.c.set(t, strings.ReplaceAll(managedRoute, "CART}", "CART}\n    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: Rolled, value: \"yes\"}]}}]"))
	eventually(t, "the change goes live", func() bool {
		answer, err := harness.NewClientAt(at).Try(http.MethodGet, "/")
		return err == nil && answer.Header.Get("Rolled") == "yes"
	})
}
