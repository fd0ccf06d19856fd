package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// triesRules are a rule for each way to limit requests or to try them again, on one Service each.
var triesRules = map[string][]string{
	"free":     {"timeouts: {request: 0s, backendRequest: 0s}"},
	"whole":    {"timeouts: {request: 1s}"},
	"each":     {"timeouts: {backendRequest: 1s}"},
	"both":     {"timeouts: {request: 30s, backendRequest: 1s}", "retry: {attempts: 2}"},
	"capped":   {"timeouts: {request: 1s, backendRequest: 1s}", "retry: {attempts: 50}"},
	"statuses": {"retry: {codes: [404, 503], attempts: 2, backoff: 10ms}"},
	"resets":   {"retry: {attempts: 2}"},
}

// deployTries deploys them on two hosts.
func deployTries(t *testing.T) *harness.Envoy {
	t.Helper()
	pods := harness.Backends(t, "a", "b")
	var documents harness.Documents
	route := harness.Route{Name: "app", Rules: []harness.Rule{harness.CookieRule("cart", "free")}} // Envoy has a filter to ask about
	for name, tries := range triesRules {
		documents.Services = append(documents.Services, harness.Service{Name: name, Backends: pods})
		rule := harness.PlainRule(name, name)
		rule.Tries = tries
		route.Rules = append(route.Rules, rule)
	}
	documents.Routes = []harness.Route{route}
	return harness.Run(t, harness.Deployment{Documents: documents})
}

// TestTimeoutsAndRetries: a rule's timeouts cut requests and tries off, 0s does not, and what its retry names is tried
// as often as it says, without sessions too (S73).
//
// requirements: S73
func TestTimeoutsAndRetries(t *testing.T) {
	t.Parallel()
	envoy := deployTries(t)
	slow, reset := harness.ReplyDelay+": 40s", harness.ReplyReset+": yes"
	for _, c := range []struct {
		rule, header    string
		status, retries int
	}{
		{"free", harness.ReplyDelay + ": 2s", http.StatusOK, 0},
		{"whole", slow, http.StatusGatewayTimeout, 0},
		{"each", slow, http.StatusGatewayTimeout, 0},
		{"both", slow, http.StatusGatewayTimeout, 2},
		{"capped", slow, http.StatusGatewayTimeout, 0},
		{"statuses", harness.ReplyStatus + ": 404", http.StatusNotFound, 2},
		{"statuses", harness.ReplyStatus + ": 503", http.StatusServiceUnavailable, 2},
		{"statuses", harness.ReplyStatus + ": 500", http.StatusInternalServerError, 0},
		{"resets", reset, http.StatusServiceUnavailable, 2},
		{"whole", reset, http.StatusServiceUnavailable, 0},
	} {
		stat := "cluster.service/default/" + c.rule + "/80.upstream_rq_retry"
		before, begin := envoy.Stat(t, stat), time.Now()
		if got := envoy.Stranger().Get(t, "/"+c.rule, c.header); got.Status != c.status {
			t.Errorf("%s, %s: status %d, want %d", c.rule, c.header, got.Status, c.status)
		}
		if took := time.Since(begin); took >= 40*time.Second {
			t.Errorf("%s, %s: took %v", c.rule, c.header, took)
		}
		if got := envoy.Stat(t, stat) - before; got != uint64(c.retries) {
			t.Errorf("%s, %s: %d retries, want %d", c.rule, c.header, got, c.retries)
		}
	}
}
