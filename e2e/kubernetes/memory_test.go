package kubernetes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// drainLimit is how long a host of the tests drains.
const drainLimit = 40 * time.Second

// drainPolicy limits how long sessions stay on a host that terminates.
var drainPolicy = fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: drain, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}]
  sessionName: CART
  drainTimeout: %.0fs
`, drainLimit.Seconds())

// podSlice is the Service's EndpointSlice with pods, each an address and a uid; one whose uid ends in "!" terminates.
func podSlice(pods ...string) string {
	text := strings.TrimSpace(slice())
	for _, p := range pods {
		address, uid, _ := strings.Cut(p, " ")
		uid, terminates := strings.CutSuffix(uid, "!")
		text += fmt.Sprintf("\n- addresses: [%s]\n  conditions: {ready: %v, serving: true, terminating: %v}\n  targetRef: {kind: Pod, name: p-%s, namespace: default, uid: %s}",
			address, !terminates, terminates, uid, uid)
	}
	return text + "\n"
}

// recalled tells whether an object of limpet's memory has a text.
func (c *cluster) recalled(t *testing.T, memory, text string) bool {
	t.Helper()
	list, err := c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").
		List(t.Context(), metav1.ListOptions{LabelSelector: "limpet.dev/memory=" + memory})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if entries, _, _ := unstructured.NestedString(o.Object, "data", "memory.json"); strings.Contains(entries, text) {
			return true
		}
	}
	return false
}

// TestMemory: a pod goes and another has its address, a host begins to terminate, and limpet is killed. Its Envoy goes to another one that
// ran all the while, and when that is killed, to one that has seen none of it: no session is led to the other pod, and the host's time goes
// on. Objects are written seldom.
//
// requirements: 2A.4, 2A.27, S41, S42
func TestMemory(t *testing.T) {
	c := startCluster(t)
	const one, two, three = "10.244.7.1", "10.244.7.2", "10.244.7.3"
	first := harness.NewBackendAt(t, "first", one+":8080")
	harness.NewBackendAt(t, "second", two+":8080")
	harness.NewBackendAt(t, "third", three+":8080")
	port := harness.FreePort(t)
	c.set(t, shopAt(port))
	c.set(t, drainPolicy)
	defer c.remove(t, object("limpet.dev/v1alpha1", "SessionPersistencePolicy", "default", "drain"))
	c.set(t, podSlice(one+" u1", two+" u2", three+" u3"))
	flags := []string{"--system-namespace", "default"}
	ring := harness.NewRing("k")
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, ring, flags...)
	standby := s.Another(t)
	door := newDoor(t, s.Listen)
	envoy := s.Bootstrap(t, "--server", door.Addr().String()).Start(t)
	s.AwaitAcknowledged(t)
	members := map[string][]*harness.Client{}
	for range 60 {
		client := envoy.Client()
		home := client.Get(t, "/cart").Backend
		members[home] = append(members[home], client)
	}
	if len(members["first"]) < 5 || len(members["second"]) < 5 {
		t.Fatalf("sessions are %d on first, %d on second", len(members["first"]), len(members["second"]))
	}

	first.Close()
	harness.NewBackendAt(t, "other", one+":8080")
	begun := time.Now()
	c.set(t, podSlice(one+" other", two+" u2!", three+" u3"))
	eventually(t, "the other pod serves", func() bool { return envoy.Stranger().Get(t, "/cart").Backend == "other" })
	eventually(t, "it is remembered since when a host terminates", func() bool { return c.recalled(t, "draining", two+":8080") })
	if !c.recalled(t, "owners", `"uid":"other","reused":true`) {
		t.Error("it is not remembered that an address is another pod's")
	}
	stays := members["second"][0]
	goesOn := func(who string, clients []*harness.Client) {
		t.Helper()
		for _, client := range clients {
			if r := client.Get(t, "/cart"); len(r.Header["Set-Cookie"]) == 0 {
				t.Fatalf("%s: a session of the pod that is gone goes on at %s", who, r.Backend)
			}
		}
		if at := stays.Get(t, "/cart").Backend; at != "second" {
			t.Errorf("%s: a session of a host that drains is at %s after %v", who, at, time.Since(begun))
		}
	}
	served := func(by *harness.Serving) {
		t.Helper()
		door.lead(by.Listen)
		by.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return e.Generation != "" && e.Generation == e.Target })
	}
	s.Kill(t)
	served(standby)
	goesOn("the standby", members["first"][:2])
	s.ServeAgain(t)
	writes := standby.Metric(t, "limpet_memory_writes_total")
	standby.Kill(t)
	served(s)
	goesOn("a fresh process", members["first"][2:])
	time.Sleep(time.Until(begun.Add(drainLimit + 2*time.Second)))
	if at := stays.Get(t, "/cart").Backend; at == "second" {
		t.Errorf("a session is at a host that drains, %v after it began to: its time began again", time.Since(begun))
	}
	if n := s.Metric(t, "limpet_memory_writes_total"); n > 12 || writes > 12 {
		t.Errorf("%v and %v objects were written for two events", n, writes)
	}
}
