package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestZones: sessions begin in Envoy's own zone while a host there serves, and stay on their host wherever that is: one that began
// elsewhere does not come back when the zone does.
//
// requirements: S84
func TestZones(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	pods[0].Zone, pods[1].Zone, pods[2].Zone = "here", "here", "there"
	envoy := harness.Run(t, harness.Deployment{Flags: []string{"--zone", "here"}, Documents: harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods, TrafficDistribution: "PreferClose"}},
		Routes:   []harness.Route{{Name: "app", Rules: []harness.Rule{harness.CookieRule("cart", "pods")}}},
		More: `
apiVersion: limpet.dev/v1alpha1
kind: LoadBalancerPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  healthCheck: {interval: 1s, timeout: 5s, unhealthyThreshold: 1, http: {path: /ready}}
`,
	}})
	s := &hostsScene{envoy, pods, "service/default/pods/80"}
	s.await(t, true, pods...)
	if began := spread(t, envoy.Stranger(), "/cart", 40); began["a"] < 10 || began["b"] < 10 || began["c"] > 0 {
		t.Errorf("sessions began on %v, with a and b in Envoy's zone", began)
	}
	far := cookieLine("cart", mint(t, envoy, "cart", pods[2].Address, harness.Dates{}))
	if got := stay(t, envoy.Stranger(), "/cart", 20, far); got != "c" {
		t.Errorf("a session on c went to %s", got)
	}
	pods[0].Break(harness.FaultUnready)
	s.await(t, false, pods[0])
	if began := spread(t, envoy.Stranger(), "/cart", 20); began["b"] != 20 {
		t.Errorf("sessions began on %v, with b left in Envoy's zone", began)
	}
	pods[1].Break(harness.FaultUnready)
	s.await(t, false, pods[1])
	client := envoy.Client()
	if got := stay(t, client, "/cart", 20); got != "c" {
		t.Errorf("a session began on %s, and only c serves", got)
	}
	pods[0].Break(harness.NoFault)
	pods[1].Break(harness.NoFault)
	s.await(t, true, pods...)
	if got := stay(t, client, "/cart", 20); got != "c" {
		t.Errorf("a session on c went to %s when its zone was back", got)
	}
}
