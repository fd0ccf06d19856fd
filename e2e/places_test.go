package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// strangersSlice is a Service of a namespace without a Gateway, behind a route on the test's Gateway, with one endpoint.
const strangersSlice = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: stranger, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [stranger.example.com]
  rules: [{backendRefs: [{name: stranger, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: stranger, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: stranger, namespace: default, labels: {kubernetes.io/service-name: stranger}}
addressType: IPv4
ports: [{name: http, port: %d}]
endpoints: [{addresses: [127.0.0.1]}]
`

// TestAdminIsNoEndpoint: no route leads to the admin interface of the Envoy that serves it, from which one could read its
// configuration and end it.
func TestAdminIsNoEndpoint(t *testing.T) {
	t.Parallel()
	admin := harness.FreePort(t)
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Documents.More = fmt.Sprintf(strangersSlice, admin)
	deployment.Flags = []string{"--admin", harness.Loopback(admin)} // the last one counts
	compiled := harness.Compile(t, deployment)
	compiled.AdminPort = admin
	if !strings.Contains(compiled.Output, "is where Envoy itself listens: the endpoint is left out") {
		t.Errorf("limpet does not say so: %s", compiled.Output)
	}
	envoy := compiled.Start(t)
	client := envoy.Stranger()
	client.Host = "stranger.example.com"
	for _, path := range []string{"/config_dump", "/server_info", "/ready"} {
		response := client.Get(t, path)
		if response.Status != http.StatusServiceUnavailable {
			t.Errorf("GET %s: status %d: %.100s", path, response.Status, response.Body)
		}
	}
}
