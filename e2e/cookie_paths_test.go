package e2e

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestCookieBesideItsPath: a cookie whose path no request of its rule is below is issued each time and never comes back, which
// limpet has warned of; one whose path is above them does.
//
// requirements: S23
func TestCookieBesideItsPath(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b")
	documents := harness.OneRoute(pods, harness.PlainRule("app", "pods"), harness.PlainRule("shop", "pods"))
	documents.More = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: app, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  sessionName: seen
  cookie: {path: /shop}
`
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	if warned := strings.Count(envoy.Output, `is below "/shop"`); warned != 1 {
		t.Errorf("limpet warned %d times: %s", warned, envoy.Output)
	}
	for path, comesBack := range map[string]bool{"/app": false, "/shop/cart": true} {
		client := envoy.Client()
		visit(t, client, path)
		for range 4 {
			issued := len(visit(t, client, path).Header["Set-Cookie"]) > 0
			if issued == comesBack {
				t.Errorf("%s: a token was issued again: %t, want %t", path, issued, !comesBack)
			}
		}
	}
}
