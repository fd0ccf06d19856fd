package e2e

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// routeScope has the rules of both routes share their sessions, and a second route whose rules are of release 1.7.
const routeScope = `apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: scope}
spec:
  targetRefs: [{kind: HTTPRoute, name: app}, {kind: HTTPRoute, name: later}]
  scope: Route
  cookie: {secure: false}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: later}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /e}}]
    backendRefs: [{name: v1, port: 80}]
    sessionPersistence: {cookie: {name: later}}
  - matches: [{path: {value: /f}}]
    backendRefs: [{name: v1, port: 80}, {name: v2, port: 80}]
    sessionPersistence: {cookie: {name: later}}
`

// TestRouteScope goes to and fro between the rules of a route with the cookies of one client.
//
// requirements: 2B.O5, S22, S33
func TestRouteScope(t *testing.T) {
	t.Parallel()
	var services []harness.Service
	for _, name := range []string{"v1", "v2", "v3"} {
		services = append(services, harness.Service{Name: name, Backends: harness.Backends(t, name+"-a", name+"-b")})
	}
	split := func(path string, refs ...harness.Ref) harness.Rule { return harness.Rule{Path: path, Refs: refs} }
	envoy := harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Services: services,
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{
			split("/a", harness.Ref{Service: "v1", Weight: 1}),
			split("/b", harness.Ref{Service: "v1", Weight: 0}, harness.Ref{Service: "v2", Weight: 100}),
			split("/c", harness.Ref{Service: "v1", Weight: 1}, harness.Ref{Service: "v3", Weight: 1}),
		}}},
		More: routeScope,
	}})
	t.Run("a session goes on at another rule, where its backend has weight 0", func(t *testing.T) {
		for range 6 {
			client := envoy.Client()
			first := stay(t, client, "/a", 3)
			if at := stay(t, client, "/b", 10); at != first {
				t.Fatalf("the session began on %s and went on on %s", first, at)
			}
			stay(t, client, "/a", 3)
		}
	})
	t.Run("where a rule lacks its backend it moves once, and then stays on both", func(t *testing.T) {
		for range 6 {
			client := envoy.Client()
			if first := stay(t, client, "/b", 3); !strings.HasPrefix(first, "v2") {
				t.Fatalf("new sessions on a Service of weight 0: %s", first)
			}
			moved := stay(t, client, "/a", 3)
			for range 5 {
				if b, a := stay(t, client, "/b", 2), stay(t, client, "/a", 2); b != moved || a != moved {
					t.Fatalf("the session moved to %s, and then was on %s at /b and on %s at /a", moved, b, a)
				}
			}
		}
	})
	t.Run("rules with a backend each that the other lacks throw no client to and fro", func(t *testing.T) {
		for range 6 {
			client := envoy.Client()
			b, c := stay(t, client, "/b", 2), stay(t, client, "/c", 2)
			for range 5 {
				if stay(t, client, "/b", 2) != b || stay(t, client, "/c", 2) != c {
					t.Fatalf("the client was on %s at /b and on %s at /c, and is not", b, c)
				}
			}
		}
	})
	t.Run("in 1.7 the weights choose, and each backend has one session for both rules", func(t *testing.T) { checkLater(t, envoy) })
}

func checkLater(t *testing.T, envoy *harness.Envoy) {
	for range 4 {
		client := envoy.Client()
		first := stay(t, client, "/e", 3)
		shares := spread(t, client, "/f", 40)
		if len(shares) != 2 || shares[first] == 0 {
			t.Fatalf("the session in v1 is on %s, and requests of the split went to %v", first, shares)
		}
		if at := stay(t, client, "/e", 3); at != first {
			t.Fatalf("it moved from %s to %s", first, at)
		}
	}
}
