package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// envoysOrders are headers by which Envoys tell one another how to treat a request.
var envoysOrders = []string{
	"x-envoy-retry-on: 5xx,reset", "x-envoy-max-retries: 3", "x-envoy-retry-grpc-on: unavailable", "x-envoy-retriable-status-codes: 503",
	"x-envoy-upstream-rq-timeout-ms: 1", "x-envoy-upstream-rq-per-try-timeout-ms: 1", "x-envoy-expected-rq-timeout-ms: 1",
	"x-envoy-upstream-rq-timeout-alt-response: 1", "x-envoy-hedge-on-per-try-timeout: true", "x-envoy-attempt-count: 9",
	"x-envoy-original-path: /other", "x-envoy-decorator-operation: other", "x-envoy-force-trace: 1",
	"x-envoy-upstream-alt-stat-name: other", "x-envoy-is-timeout-retry: true",
}

// TestClientsGiveEnvoyNoOrders: a client sets neither timeouts nor retries, and no backend sees that it tried.
func TestClientsGiveEnvoyNoOrders(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a")
	pods = append(pods, harness.NewBackend(t, "failing"))
	documents := harness.Documents{
		Services: []harness.Service{{Name: "pods", Backends: pods[:1]}, {Name: "failing", Backends: pods[1:]}},
		Routes: []harness.Route{{Name: "app", Rules: []harness.Rule{
			harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"), harness.PlainRule("failing", "failing"),
		}}},
	}
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	for _, path := range []string{"/cart", "/plain"} {
		response := envoy.Stranger().Get(t, path, append(envoysOrders, harness.ReplyDelay+": 300ms")...)
		if response.Status != http.StatusOK {
			t.Errorf("%s: status %d: the client has set a timeout", path, response.Status)
		}
		for _, order := range envoysOrders {
			name, value, _ := strings.Cut(order, ": ")
			if got := response.Seen.Headers.Values(name); slices.Contains(got, value) {
				t.Errorf("%s: the backend saw %s", path, order)
			}
		}
	}
	pods[1].Break(harness.FaultDeclines)
	retries := []string{"x-envoy-retry-on: 5xx", "x-envoy-max-retries: 3"}
	if response := envoy.Stranger().Get(t, "/failing", retries...); response.Status != http.StatusServiceUnavailable {
		t.Errorf("status %d from a backend that declines", response.Status)
	}
	if got := pods[1].Requests(); got != 1 {
		t.Errorf("the client had its request tried %d times", got)
	}
}

// TestUnderscoredNames: a request with a header that a backend may take for another one, such as x_limpet_pin or
// transfer_encoding, reaches no backend.
func TestUnderscoredNames(t *testing.T) {
	t.Parallel()
	certificate := harness.NewCertificate(t)
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))
	deployment.Documents.Sites = []harness.Site{{Certificate: certificate}}
	envoy := harness.Run(t, deployment)
	for _, wire := range envoy.Wires(certificate, envoy.TLSPort) {
		for _, name := range []string{"x_limpet_pin", "x_sess", "transfer_encoding", "content_length", "x_forwarded_for", "x-a_b", "_"} {
			for _, path := range []string{"/cart", "/plain"} {
				if raw := wire.Send(t, http.MethodGet, path, harness.Fields{{name, "1"}}); raw.Status != http.StatusBadRequest && raw.Status != 0 {
					t.Errorf("%s: GET %s with %s: status %d", wire.Name, path, name, raw.Status)
				}
			}
		}
		if raw := wire.Send(t, http.MethodGet, "/plain", harness.Fields{{"x-plain", "under_score"}}); raw.Status != http.StatusOK {
			t.Errorf("%s: an underscore in a value: status %d", wire.Name, raw.Status)
		}
	}
	for _, pod := range pods {
		if pod.Got("x_limpet_pin") || pod.Got("transfer_encoding") {
			t.Errorf("backend %s got a name with an underscore", pod.Name)
		}
	}
}
