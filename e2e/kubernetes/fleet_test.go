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

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// fleet is a cluster that runs Gateways' proxies, on a node that is this machine.
type fleet struct {
	c       *cluster
	node    *standin.Node
	serving *harness.Serving
	keys    harness.Ring
	clients []*harness.Client // that may have connections
}

// ask sends a request of a client that goes again.
func (f *fleet) ask(at string) (harness.Response, error) {
	client := harness.NewClientAt(at)
	defer client.Leave()
	return client.Try(http.MethodGet, "/")
}

// newFleet starts all of it, and a Gateway with a route.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	c := startCluster(t)
	shipped := harness.Find(t)
	f := &fleet{c: c, keys: harness.NewRing("old", "new")}
	filter := shipped.Wasm
	if harness.Native() {
		filter = filepath.Join(shipped.Root, "dist", "liblimpet.so")
	}
	f.node = c.startNode(t, map[string]standin.Image{
		"envoy":  {Files: map[string]string{"/usr/local/bin/envoy": shipped.Envoy, filter: filter}, Libraries: true},
		"limpet": {Files: map[string]string{"/usr/local/bin/limpet": shipped.Limpet}, Libraries: true, Entrypoint: []string{"limpet"}},
	}, map[string][]string{serverName: {standin.Address}})
	startPods(t, managedPods...)
	c.set(t, managedClass)
	folder, authority := t.TempDir(), harness.NewAuthority(t)
	authority.Issue(t, folder, "server", serverName, "")
	f.setConfig(t, "replicas: 1")
	args := []string{
		"--system-namespace", "managed", "--controller-name", "limpet.dev/managed", "--bind", "0.0.0.0", "--listen", serverAddress,
		"--tls-cert", filepath.Join(folder, "server.crt"), "--tls-key", filepath.Join(folder, "server.key"), "--tls-ca", filepath.Join(folder, "server-ca.crt"), "--token-audience", "limpet.dev",
		"--manage-proxies", "envoy:1", "--helper-image", "limpet:1", "--proxy-server", serverName + ":18000",
		"--proxy-ca", filepath.Join(folder, "server-ca.crt"), "--infrastructure-keys", "team,example.com/*",
	}
	f.serving = harness.ServeCluster(t, f.asLimpet(t), 80, f.keys.Only("old"), args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(f.serving.Output())
		}
	})
	return f
}

// asLimpet gives the kubeconfig of a user who may do what docs/serve.md and docs/managed.md say.
func (f *fleet) asLimpet(t *testing.T) string {
	t.Helper()
	const heading = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
	_, role, _ := strings.Cut(harness.ReadDocument(t, "docs/managed.md"), heading)
	role, _, _ = strings.Cut(role, "\n```")
	f.c.set(t, heading+role+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: limpet-proxies}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limpet-proxies}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limpet}]
`)
	return f.c.asLimpet(t, "", "")
}

// setConfig writes the ProxyConfig of the class, with further fields.
func (f *fleet) setConfig(t *testing.T, further ...string) {
	t.Helper()
	f.c.set(t, "apiVersion: limpet.dev/v1alpha1\nkind: ProxyConfig\nmetadata: {name: fleet, namespace: managed}\nspec:\n"+
		"  concurrency: 1\n  shutdown: {drainTimeout: 20s, minDrain: 1s}\n  accessLog: {enabled: true}\n  tracing: {endpoint: \"127.0.0.1:4317\"}\n  "+strings.Join(further, "\n  ")+"\n")
}

// setKeys has limpet send another ring, and waits until all proxies have it.
func (f *fleet) setKeys(t *testing.T, ids ...string) {
	t.Helper()
	before, _ := f.serving.Status(t)
	f.serving.WriteKeys(t, f.keys.Only(ids...).JSON(t))
	eventually(t, "all proxies have the ring", func() bool {
		now, acknowledged := f.serving.Status(t)
		return acknowledged && len(now) == len(before) && now[0].Generation != before[0].Generation
	})
}

// proxies gives the Deployment of the Gateway; nil for none.
func (f *fleet) proxies(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	return f.c.get(t, object("apps/v1", "Deployment", "managed", "edge-managed"))
}

// awaitProxies waits until so many proxies are ready, all as the ProxyConfig says now, and no other one is left.
func (f *fleet) awaitProxies(t *testing.T, count int64) {
	t.Helper()
	deadline := time.Now().Add(patience)
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
			if of := metav1.GetControllerOf(o); of == nil || of.UID != owner.GetUID() || o.GetLabels()["team"] != "edge" ||
				o.GetLabels()["sidecar.istio.io/inject"] != "" || o.GetAnnotations()["example.com/cost"] != "7" {
				t.Errorf("%s: owner %v, labels %v, annotations %v", kind, of, o.GetLabels(), o.GetAnnotations())
			}
		}
	}
}

// suffer has something happen under load, of which no client may see anything.
func (f *fleet) suffer(t *testing.T, at, name string, changes int, do func()) {
	t.Helper()
	clients := harness.NewClients(t, 8, func(int) func() (harness.Response, error) {
		client := harness.NewClientAt(at)
		f.clients = append(f.clients, client)
		return harness.Getter(client, "/")
	})
	clients.Every = 10 * time.Millisecond
	begun := time.Now()
	tally := clients.During(do)
	for _, client := range f.clients {
		client.Leave()
	}
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
	err := f.c.Client.PolicyV1().Evictions("managed").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.GetName(), Namespace: "managed"}})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Pod is gone", func() bool { return f.c.get(t, object("v1", "Pod", "managed", pod.GetName())) == nil })
}

// rollServe starts limpet again where it was, and has a change go through it.
func (f *fleet) rollServe(t *testing.T, at string) {
	t.Helper()
	f.serving.Signal(t, syscall.SIGTERM)
	f.serving.Kill(t)
	f.serving.ServeAgain(t)
	f.c.set(t, strings.ReplaceAll(managedRoute, "CART}", "CART}\n    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: Rolled, value: \"yes\"}]}}]"))
	eventually(t, "the change goes live", func() bool {
		answer, err := f.ask(at)
		return err == nil && answer.Header.Get("Rolled") == "yes"
	})
	eventually(t, "both proxies are back", func() bool {
		connected, acknowledged := f.serving.Status(t)
		return acknowledged && len(connected) == 2
	})
}

// listObjects lists what runs the Gateway's proxies.
func (f *fleet) listObjects(t *testing.T) (all []string) {
	t.Helper()
	for apiVersion, kinds := range map[string][]string{
		"v1": {"Service", "Secret", "ServiceAccount", "Pod"}, "apps/v1": {"Deployment", "DaemonSet"}, "policy/v1": {"PodDisruptionBudget"},
		"autoscaling/v2": {"HorizontalPodAutoscaler"},
	} {
		for _, kind := range kinds {
			for _, o := range f.c.list(t, object(apiVersion, kind, "managed", "")) {
				if o.GetLabels()["limpet.dev/proxies"] == "edge-managed" {
					all = append(all, kind+" "+o.GetName())
				}
			}
		}
	}
	return all
}
