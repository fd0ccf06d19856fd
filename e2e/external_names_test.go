package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// namedShop has routes to hosts behind names: an ExternalName, names of an EndpointSlice, both in a split with pods, and Envoy's own
// admin interface by a name.
const namedShop = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: named, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /outside}}]
    backendRefs: [{name: outside, port: %[1]d}]
    sessionPersistence: {sessionName: outside}
  - matches: [{path: {value: /sliced}}]
    backendRefs: [{name: sliced, port: 80}]
    sessionPersistence: {sessionName: sliced}
  - matches: [{path: {value: /split}}]
    backendRefs: [{name: outside, port: %[1]d}, {name: pods, port: 80}]
    sessionPersistence: {sessionName: split}
  - matches: [{path: {value: /broken}}]
    backendRefs: [{name: outside, port: %[1]d}, {name: missing, port: 80}]
    sessionPersistence: {sessionName: broken}
  - matches: [{path: {value: /admin}}]
    backendRefs: [{name: machine, port: %[2]d}]
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: ExternalName, externalName: outside.example.com}
---
apiVersion: v1
kind: Service
metadata: {name: machine, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: v1
kind: Service
metadata: {name: sliced, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: sliced, namespace: default, labels: {kubernetes.io/service-name: sliced}}
addressType: FQDN
ports: [{name: http, port: %[1]d}]
endpoints: [{addresses: [one.example.com]}, {addresses: [two.example.com]}, {addresses: [elsewhere.example.org]}]
`

// TestExternalNames: hosts behind names have sessions as pods have. A session is with an address: it stays as long as the name has
// that address, whatever else the name gets, and moves when it has it no more. No name leads to the admin interface.
// requirements: S83
func TestExternalNames(t *testing.T) {
	t.Parallel()
	port, admin := harness.FreePort(t), harness.FreePort(t)
	for i, name := range []string{"a", "b", "c"} {
		harness.NewBackendAt(t, name, fmt.Sprintf("127.0.7.%d:%d", i+1, port))
	}
	dns := harness.StartDNS(t, map[string][]string{
		"outside.example.com": {"127.0.7.1", "127.0.7.2", "127.0.7.3"},
		"one.example.com":     {"127.0.7.1"}, "two.example.com": {"127.0.7.2", "127.0.7.3"},
	})
	deployment := harness.Deployment{
		Documents: harness.OneRoute(harness.Backends(t, "pod"), harness.PlainRule("plain", "pods")), Tree: dns.AskDNS,
		Flags: []string{"--external-names", "*.example.com,localhost", "--admin", harness.Loopback(admin)},
	}
	deployment.Documents.More = fmt.Sprintf(namedShop, port, admin)
	compiled := harness.Compile(t, deployment)
	compiled.AdminPort = admin
	if !strings.Contains(compiled.Output, "no --external-names covers elsewhere.example.org: the endpoint is left out") {
		t.Errorf("limpet does not say so: %s", compiled.Output)
	}
	envoy := compiled.Start(t)
	for _, path := range []string{"/outside", "/sliced"} {
		homes := map[string]int{}
		for range 12 {
			homes[stay(t, envoy.Client(), path, 4)]++
		}
		if len(homes) != 3 {
			t.Errorf("%s: sessions are on %v", path, homes)
		}
	}
	if response := envoy.Stranger().Get(t, "/admin"); response.Status != http.StatusInternalServerError {
		t.Errorf("the admin interface answers %d: %.100s", response.Status, response.Body)
	}
	t.Run("split", func(t *testing.T) { checkNamedSplit(t, envoy) })
	t.Run("broken", func(t *testing.T) { checkBrokenShare(t, envoy) })
	t.Run("change", func(t *testing.T) { checkNamesChange(t, envoy, dns) })
}

// checkNamedSplit holds that sessions stay with names and pods under one cookie.
func checkNamedSplit(t *testing.T, envoy *harness.Envoy) {
	homes := map[string]int{}
	for range 24 {
		homes[stay(t, envoy.Client(), "/split", 4)]++
	}
	if homes["pod"] < 4 || homes["a"]+homes["b"]+homes["c"] < 4 {
		t.Errorf("sessions are on %v", homes)
	}
}

// checkBrokenShare holds that a session stays where the other backend of the split is none.
func checkBrokenShare(t *testing.T, envoy *harness.Envoy) {
	stayed := 0
	for range 12 {
		client := envoy.Client()
		if first := client.Get(t, "/broken"); first.Status == http.StatusOK {
			stayed++
			if home := stay(t, client, "/broken", 4); home != first.Backend {
				t.Errorf("a session went from %s to %s", first.Backend, home)
			}
		} else if first.Status != http.StatusServiceUnavailable {
			t.Errorf("status %d", first.Status)
		}
	}
	if stayed == 0 {
		t.Error("there is no session")
	}
}

// checkNamesChange takes an address from the name.
func checkNamesChange(t *testing.T, envoy *harness.Envoy, dns *harness.DNS) {
	clients, homes := []*harness.Client{}, []string{}
	for range 12 {
		client := envoy.Client()
		clients, homes = append(clients, client), append(homes, stay(t, client, "/outside", 2))
	}
	dns.Set("outside.example.com", "127.0.7.2", "127.0.7.3")
	gone := func() bool {
		for range 20 {
			if visit(t, envoy.Stranger(), "/outside").Backend == "a" {
				return false
			}
		}
		return true
	}
	eventually(t, "Envoy sends no more requests to the address that the name has lost", gone)
	for i, client := range clients {
		now := stay(t, client, "/outside", 3)
		if homes[i] == "a" && now == "a" || homes[i] != "a" && now != homes[i] {
			t.Errorf("a session of %s is on %s", homes[i], now)
		}
	}
}
