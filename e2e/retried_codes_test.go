package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestRetriedCodesKeepSessions: a rule's codes are tried again for requests without a session alone. The client of a session gets what
// its host answers, and the session stays; a host that breaks off has lost it.
//
// requirements: S40, S73
func TestRetriedCodesKeepSessions(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b")
	rule := harness.CookieRule("cart", "pods")
	rule.Tries = []string{"retry: {codes: [500, 503], attempts: 2}"}
	envoy := harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, rule)})
	const stat = "cluster.service/default/pods/80.upstream_rq_retry"
	for _, status := range []string{"500", "503"} {
		client := envoy.Client()
		home := visit(t, client, "/cart").Backend
		before := envoy.Stat(t, stat)
		got := client.Get(t, "/cart", harness.ReplyStatus+": "+status)
		if want := map[string]int{"500": http.StatusInternalServerError, "503": http.StatusServiceUnavailable}[status]; got.Status != want || got.Backend != home {
			t.Errorf("the host %s of a session answered %s, and its client got %d of %s", home, status, got.Status, got.Backend)
		}
		if retries := envoy.Stat(t, stat) - before; retries != 0 {
			t.Errorf("%s: %d retries of a request with a session", status, retries)
		}
		if status == "500" {
			wantNoToken(t, got, "cart")
			if now := stay(t, client, "/cart", 4); now != home {
				t.Errorf("the session went from %s to %s", home, now)
			}
		}
		before = envoy.Stat(t, stat)
		if got := envoy.Stranger().Get(t, "/cart", harness.ReplyStatus+": "+status); envoy.Stat(t, stat)-before != 2 {
			t.Errorf("%s: %d retries of a request without a session, which got %d", status, envoy.Stat(t, stat)-before, got.Status)
		}
	}
	client := envoy.Client()
	visit(t, client, "/cart")
	before := envoy.Stat(t, stat)
	if client.Get(t, "/cart", harness.ReplyReset+": yes"); envoy.Stat(t, stat)-before == 0 {
		t.Error("a request whose host broke off was not tried again")
	}
}

// TestRetriedCodesInASplit: where one backend of a split has sessions that must not move, codes are tried again for the other's requests
// without a session, and for those of no session.
//
// requirements: S73
func TestRetriedCodesInASplit(t *testing.T) {
	t.Parallel()
	documents := harness.OneRoute(harness.Backends(t, "a", "b"), harness.PlainRule("plain", "pods"))
	documents.Services = append(documents.Services, harness.Service{Name: "strict", Backends: harness.Backends(t, "c")})
	documents.More = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: split, namespace: default}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /split}}]
    backendRefs: [{name: pods, port: 80, weight: 1000000}, {name: strict, port: 80, weight: 1}]
    retry: {codes: [500], attempts: 2}
    sessionPersistence: {cookie: {name: split}}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: strict, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: strict}]
  onHostLost: Fail
`
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	const stat = "cluster.service/default/pods/80.upstream_rq_retry"
	client := envoy.Client()
	home := visit(t, client, "/split").Backend
	if got := client.Get(t, "/split", harness.ReplyStatus+": 500"); got.Backend != home || envoy.Stat(t, stat) != 0 {
		t.Errorf("the host %s of a session answered 500: %d retries, and %s answered", home, envoy.Stat(t, stat), got.Backend)
	}
	if envoy.Stranger().Get(t, "/split", harness.ReplyStatus+": 500"); envoy.Stat(t, stat) != 2 {
		t.Errorf("%d retries of a request without a session", envoy.Stat(t, stat))
	}
}
