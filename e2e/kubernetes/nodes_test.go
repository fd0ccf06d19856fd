package kubernetes

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// TestNodes: an EndpointSlice leads to a node only where a Pod of its namespace is on the node's network, and never to the API server.
// limpet has the rights of docs/serve.md.
func TestNodes(t *testing.T) {
	const node, server = "10.244.9.1", "10.244.9.2"
	c, port := openShop(t, node)
	machine := object("v1", "Node", "", "machine")
	c.set(t, "{apiVersion: v1, kind: Node, metadata: {name: machine}}")
	c.set(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: default}}")
	defer c.remove(t, machine)
	machine.Object["status"] = map[string]any{"addresses": []any{map[string]any{"type": "InternalIP", "address": node}}}
	c.setStatus(t, machine)
	s := harness.ServeCluster(t, c.asLimpet(t, "", ""), port, harness.NewRing("k"), "--system-namespace", "default")
	if !strings.Contains(s.Output(), node+" is a machine of the cluster, on whose network namespace default has no Pod") {
		t.Errorf("limpet says\n%s", s.Output())
	}
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	if got := client.Get(t, "/cart"); got.Backend != "" {
		t.Errorf("a node without a Pod answers %d", got.Status)
	}
	pod := c.runPod(t, "on-node", node, ", hostNetwork: true")
	eventually(t, "the Pod's node serves", func() bool { return client.Get(t, "/cart").Backend == node })
	c.remove(t, pod)
	eventually(t, "it serves no more when the Pod is gone", func() bool { return client.Get(t, "/cart").Backend == "" })

	own := c.get(t, object("v1", "Service", "default", "kubernetes"))
	at, _, _ := unstructured.NestedString(own.Object, "spec", "clusterIP")
	c.set(t, slice(at))
	eventually(t, "limpet says that it is the API server's", func() bool {
		return strings.Contains(s.Output(), at+" is a machine of the cluster")
	})
	_, stdout, stderr := harness.Limpet(t, nil, "check", "-A", "--kubeconfig", c.Kubeconfig(standin.AdminToken))
	if !strings.Contains(stdout, at+" is a machine of the cluster") {
		t.Errorf("a cluster that is checked has none:\n%s%s", stdout, stderr)
	}
}
