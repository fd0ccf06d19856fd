package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestRetryBudget: sessions that leave a dead host are retries; of ten at once a budget of one lets one through and
// answers 503 to others, and a budget of ten lets all of them through (GEP-3388, S56).
//
// requirements: 2D.4, S56
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	for count, check := range map[int]func(ok int, overflow uint64) bool{
		1:  func(ok int, overflow uint64) bool { return ok >= 1 && ok < 10 && overflow > 0 },
		10: func(ok int, overflow uint64) bool { return ok == 10 && overflow == 0 },
	} {
		t.Run(fmt.Sprintf("%d retries", count), func(t *testing.T) {
			t.Parallel()
			pods := harness.Backends(t, "alive", "dead")
			documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
			documents.More = fmt.Sprintf(`
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  retryConstraint: {budget: {percent: 0}, minRetryRate: {count: %d, interval: 1s}}
`, count)
			envoy := harness.Run(t, harness.Deployment{Documents: documents})
			pods[1].Close()
			line := cookieLine("cart", mint(t, envoy, "cart", pods[1].Address, harness.Dates{}))
			ok := atOnce(t, envoy, 10, "/cart", line, harness.ReplyDelay+": 1s")
			overflow := envoy.Stat(t, "cluster.service/default/pods/80.upstream_rq_retry_overflow")
			if !check(ok, overflow) {
				t.Errorf("%d of 10 were answered 200, with %d retries not made", ok, overflow)
			}
		})
	}
}

// atOnce sends requests at one time and gives how many were answered 200; the others must be answered 503.
func atOnce(t *testing.T, envoy *harness.Envoy, count int, path string, headers ...string) int {
	t.Helper()
	statuses := make([]int, count)
	var all sync.WaitGroup
	for i := range statuses {
		client := envoy.Stranger()
		all.Go(func() {
			if response, err := client.Try(http.MethodGet, path, headers...); err == nil {
				statuses[i] = response.Status
			}
		})
	}
	all.Wait()
	ok := 0
	for _, status := range statuses {
		switch status {
		case http.StatusOK:
			ok++
		case http.StatusServiceUnavailable:
		default:
			t.Errorf("a request was answered %d (0 is not at all)", status)
		}
	}
	return ok
}
