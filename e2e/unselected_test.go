package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// keepLimit is how long a pod that its Service no longer selects keeps its sessions here.
const keepLimit = 3 * time.Second

// unselectedDocuments are a Service's pods, of which some are selected, two routes to it, and a policy for one of them.
func unselectedDocuments(pods, selected []*harness.Backend) string {
	text := fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: keep, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: kept}]
  keepUnselected: %.0fs
---
apiVersion: v1
kind: Service
metadata: {name: pods, namespace: default}
spec: {ports: [{name: http, port: 80}]}
`, keepLimit.Seconds())
	for _, p := range pods {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, uid: uid-%s}
status: {phase: Running, podIPs: [{ip: 127.0.0.1}], conditions: [{type: Ready, status: "True"}]}
`, p.Name, p.Name)
	}
	for _, p := range selected {
		text += fmt.Sprintf(`---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods-%s, namespace: default, labels: {kubernetes.io/service-name: pods}}
addressType: IPv4
ports: [{name: http, port: %d, protocol: TCP}]
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: %s, uid: uid-%s}}]
`, p.Name, p.Port(), p.Name, p.Name)
	}
	return text
}

// TestUnselected relabels a pod: sessions under keepUnselected stay with it for that time and then move once, it gets no new
// ones, and those of a policy without the field move at once.
//
// requirements: 2A.29, S42
func TestUnselected(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	s := &drainScene{pods: pods}
	s.Watching = harness.RunWatching(t, harness.Documents{
		Routes: []harness.Route{
			{Name: "free", Rules: []harness.Rule{harness.CookieRule("cart", "pods")}},
			{Name: "kept", Rules: []harness.Rule{harness.HeaderRule("x-limited", "pods")}},
		},
		More: unselectedDocuments(pods, pods),
	}, harness.NewRing("first"))
	kept, free := s.beginSessions(t, "/x-limited", 30), s.beginSessions(t, "/cart", 30)
	homes, others := kept.Homes(), free.Homes()
	if homes["a"] == 0 || others["a"] == 0 {
		t.Fatalf("no sessions are on a: %v, %v", homes, others)
	}
	begin := time.Now()
	var late harness.Tally
	left := free.During(func() {
		early := kept.During(func() {
			s.Set(t, func(d *harness.Documents) { d.More = unselectedDocuments(pods, pods[1:]) })
			client := s.Client()
			client.Jar = nil
			if shares := spread(t, client, "/x-limited", 200); shares["a"] > 0 {
				t.Errorf("a is not selected and got %d of 200 new sessions", shares["a"])
			}
			time.Sleep(time.Until(begin.Add(keepLimit - 1500*time.Millisecond))) // it counts in seconds
		})
		if inTime := time.Since(begin) < keepLimit-time.Second; early.Failed() > 0 || inTime && early.Moved() > 0 {
			t.Errorf("before the limit: %v", early)
		}
		late = kept.During(func() {
			if line := s.Due(t); !strings.Contains(line, "endpoints of default/pods:80 (keep-3s)") {
				t.Errorf("limpet says %q", line)
			}
		})
		late.Add(early)
	})
	for _, c := range []struct {
		what  string
		tally harness.Tally
		homes int
	}{{"with keepUnselected", late, homes["a"]}, {"without", left, others["a"]}} {
		moved := c.tally.Moves[harness.Move{From: "a", To: "b"}] + c.tally.Moves[harness.Move{From: "a", To: "c"}]
		if c.tally.Failed() > 0 || moved != c.homes || c.tally.Moved("a") > 0 {
			t.Errorf("%s: %d sessions were on a: %v", c.what, c.homes, c.tally)
		}
	}
	if s.tokenless.Load() > 0 {
		t.Errorf("%d moves without a new token", s.tokenless.Load())
	}
}
