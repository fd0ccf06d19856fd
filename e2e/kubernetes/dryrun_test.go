package kubernetes

import (
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// TestDryRun: a Gateway with the annotation goes on as it was and says what would change; that comes when the annotation goes.
func TestDryRun(t *testing.T) {
	c := startCluster(t)
	startPods(t, "10.244.8.1", "10.244.8.2")
	port := harness.FreePort(t)
	objects := shopAt(port)
	c.set(t, objects)
	c.set(t, slice("10.244.8.1"))
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitSettled(t)
	client := envoy.Client()
	client.Get(t, "/cart")

	tried := strings.Replace(objects, "{name: edge, namespace: default}", `{name: edge, namespace: default, annotations: {limpet.dev/dry-run: "true"}}`, 1)
	c.set(t, strings.Replace(tried, "/cart}", "/basket}", 1))
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	eventually(t, "the Gateway says what would change", func() bool {
		return strings.HasPrefix(condition(c.get(t, gateway), "limpet.dev/DryRun"), "True Changes") &&
			strings.HasPrefix(condition(c.get(t, gateway), "Programmed"), "False Pending")
	})
	c.set(t, slice("10.244.8.2"))
	eventually(t, "endpoints go on", func() bool { return envoy.Stranger().Get(t, "/cart").Backend == "10.244.8.2" })
	if at := envoy.Stranger().Get(t, "/basket").Status; at != http.StatusNotFound {
		t.Errorf("what is tried answers %d", at)
	}
	c.set(t, objects)
	eventually(t, "the objects are as they were", func() bool {
		return strings.HasPrefix(condition(c.get(t, gateway), "limpet.dev/DryRun"), "no condition") &&
			strings.HasPrefix(condition(c.get(t, gateway), "Programmed"), "True Programmed")
	})
	c.set(t, strings.Replace(objects, "/cart}", "/basket}", 1))
	eventually(t, "without the annotation the change is live", func() bool { return envoy.Stranger().Get(t, "/basket").Status == http.StatusOK })
	c.set(t, objects)
}
