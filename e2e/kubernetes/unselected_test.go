package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// asLimpet gives the kubeconfig of a user who may do what docs/serve.md says, after a change of that text, and waits until the API
// server knows.
func (c *cluster) asLimpet(t *testing.T, old, new string) string {
	t.Helper()
	_, role, _ := strings.Cut(harness.ReadDocument(t, "docs/serve.md"), "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n")
	role, _, found := strings.Cut(role, "\n```")
	if !found || !strings.Contains(role, old) {
		t.Fatalf("docs/serve.md has no ClusterRole with %q", old)
	}
	c.set(t, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"+strings.Replace(role, old, new, 1)+`
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: limpet}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limpet}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limpet}]
`)
	config := rest.CopyConfig(c.Config)
	config.BearerToken = standin.LimpetToken
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the role is in force", func() bool {
		_, services := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).List(t.Context(), metav1.ListOptions{})
		_, pods := client.Resource(podResource).List(t.Context(), metav1.ListOptions{})
		return services == nil && (pods == nil) == (old == new)
	})
	return c.Kubeconfig(standin.LimpetToken)
}

// runPod makes a Pod that runs and is ready, as a node says, with more of a spec.
func (c *cluster) runPod(t *testing.T, name, address, spec string) *unstructured.Unstructured {
	t.Helper()
	c.set(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default}
spec: {automountServiceAccountToken: false, containers: [{name: app, image: app}]%s}
`, name, spec))
	pod := object("v1", "Pod", "default", name)
	status := fmt.Sprintf(`{phase: Running, podIP: %s, podIPs: [{ip: %s}], conditions: [{type: Ready, status: "True"}]}`, address, address)
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(status), &fields); err != nil {
		t.Fatal(err)
	}
	pod.Object["status"] = fields
	c.setStatus(t, pod)
	return pod
}

// setStatus writes an object's status, as a node does.
func (c *cluster) setStatus(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	resource, err := c.resourceOf(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := resource.ApplyStatus(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "node"}); err != nil {
		t.Fatal(err)
	}
}

// TestUnselected: a Pod that its Service no longer selects keeps its sessions and gets no new ones, until it is gone. Where limpet may
// not see Pods all else goes on, and it says so.
//
// requirements: 2A.29, S42
func TestUnselected(t *testing.T) {
	c := startCluster(t)
	addresses := []string{"10.244.1.1", "10.244.1.2", "10.244.1.3"}
	startPods(t, addresses...)
	port := harness.FreePort(t)
	c.set(t, shopAt(port)+`
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: keep, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
  keepUnselected: 1h
`)
	pods := map[string]*unstructured.Unstructured{}
	for i, address := range addresses {
		pods[address] = c.runPod(t, fmt.Sprintf("pod-%d", i), address, "")
	}
	c.set(t, slice(addresses...))

	blind := harness.ServeCluster(t, c.asLimpet(t, ", pods,", ","), port, harness.NewRing("k"), "--system-namespace", "default")
	if !strings.Contains(blind.Output(), "there are no Pods in the input") {
		t.Errorf("without Pods limpet says\n%s", blind.Output())
	}
	blind.Terminate(t)

	s := harness.ServeCluster(t, c.asLimpet(t, "", ""), port, harness.NewRing("k"), "--system-namespace", "default")
	if strings.Contains(s.Output(), "there are no Pods in the input") {
		t.Errorf("with Pods limpet says\n%s", s.Output())
	}
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend
	var left []string
	for _, address := range addresses {
		if address != home {
			left = append(left, address)
		}
	}
	c.set(t, slice(left...))
	eventually(t, "the Pod gets no new sessions", func() bool {
		for range 20 {
			if envoy.Stranger().Get(t, "/cart").Backend == home {
				return false
			}
		}
		return true
	})
	for range 10 {
		if at := client.Get(t, "/cart").Backend; at != home {
			t.Fatalf("the session of %s is at %s", home, at)
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.remove(t, pods[home])
	eventually(t, "its session moves when it is gone", func() bool { return client.Get(t, "/cart").Backend != home })

	c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "keep"))
	for address, pod := range pods {
		if address != home {
			c.remove(t, pod)
		}
	}
}
