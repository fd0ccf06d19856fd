package kubernetes

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// TestRejected: what an Envoy does not take is told in its words by the Gateway's status, by an event and by a metric, once; what served
// goes on serving, other changes go on, and the condition is true again when it is mended.
func TestRejected(t *testing.T) {
	c := startCluster(t)
	startPods(t, "10.244.9.1", "10.244.9.2")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := harness.FreePort(t)
	good := shopAt(port)
	c.set(t, good)
	c.set(t, slice("10.244.9.1", "10.244.9.2"))
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default")
	envoy := s.Bootstrap(t).Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	home := client.Get(t, "/cart").Backend

	bad := strings.Replace(good, "listeners: [", fmt.Sprintf("listeners: [{name: taken, protocol: HTTP, port: %d}, ",
		taken.Addr().(*net.TCPAddr).Port), 1)
	c.set(t, bad)
	gateway := object("gateway.networking.k8s.io/v1", "Gateway", "default", "edge")
	message := func() string {
		now := c.get(t, gateway)
		return condition(now, "Programmed") + ": " + message(now, "Programmed")
	}
	eventually(t, "the Gateway is not programmed, in Envoy's words", func() bool {
		return strings.HasPrefix(message(), "False ") && strings.Contains(message(), "ddress already in use")
	})
	eventually(t, "people hear of it", func() bool {
		return slices.ContainsFunc(c.list(t, object("events.k8s.io/v1", "Event", "default", "")), func(e unstructured.Unstructured) bool {
			of, _, _ := unstructured.NestedString(e.Object, "regarding", "name")
			note, _ := e.Object["note"].(string)
			return of == "edge" && e.Object["type"] == "Warning" && strings.Contains(note, "ddress already in use")
		})
	})
	if n := s.Metric(t, `limpet_xds_nacks_total{type="listeners"}`); n == 0 {
		t.Error("no metric counts it")
	}
	sent, writes := s.Metric(t, `limpet_xds_pushes_total{type="listeners"}`), s.Metric(t, "limpet_status_writes_total")
	time.Sleep(2 * time.Second)
	if more := s.Metric(t, `limpet_xds_pushes_total{type="listeners"}`) - sent; more != 0 {
		t.Errorf("listeners were sent %v times more, and nothing had changed", more)
	}
	if more := s.Metric(t, "limpet_status_writes_total") - writes; more != 0 {
		t.Errorf("statuses were written %v times more, and nothing had changed", more)
	}
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s is at %s", home, at)
	}
	c.set(t, strings.Replace(bad, "/cart}", "/basket}", 1))
	eventually(t, "another change is live", func() bool { return envoy.Stranger().Get(t, "/basket").Status == 200 })
	c.set(t, good)
	harness.RecordResult(t, "Envoy rejects a listener, and other changes go on (limpet serve)", harness.Result{
		Requests: 3, Sessions: 1, Changes: 3, Faults: 1, Note: "told in Envoy's words once, sent once, taken back when it is mended",
	})
	eventually(t, "it is programmed again", func() bool { return strings.HasPrefix(message(), "True ") })
	if at := client.Get(t, "/cart").Backend; at != home {
		t.Errorf("the session of %s is at %s", home, at)
	}
}
