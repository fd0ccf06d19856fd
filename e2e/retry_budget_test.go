package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
			documents.More = budgetPolicy(count)
			envoy := harness.Run(t, harness.Deployment{Documents: documents})
			pods[1].Close()
			line := cookieLine("cart", mint(t, envoy, "cart", pods[1].Address, harness.Dates{}))
			ok := countOK(t, statusesAtOnce(envoy, harness.NewGate(pods...), 10, "/cart", line))
			overflow := envoy.Stat(t, "cluster.service/default/pods/80.upstream_rq_retry_overflow")
			if !check(ok, overflow) {
				t.Errorf("%d of 10 were answered 200, with %d retries not made", ok, overflow)
			}
		})
	}
}

// TestBeyondTheRetryBudget: a Service answers 500 to requests that their rule has tried again for that. Beyond the budget a client gets the
// 500 and no retry is made. Requests of sessions are not among them, and one whose host refuses gets 503 and has lost its session.
//
// requirements: 2D.1, S40, S56
func TestBeyondTheRetryBudget(t *testing.T) {
	t.Parallel()
	const parallel = 20
	pods := harness.Backends(t, "alive", "dead")
	rule := harness.CookieRule("cart", "pods")
	rule.Tries = []string{"retry: {codes: [500]}"}
	documents := harness.OneRoute(pods, rule)
	documents.More = budgetPolicy(1)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	overflow := func() uint64 { return envoy.Stat(t, "cluster.service/default/pods/80.upstream_rq_retry_overflow") }
	gate, answered500 := harness.NewGate(pods...), harness.ReplyStatus+": 500"

	client := envoy.Client()
	home := visit(t, client, "/cart").Backend
	for _, status := range statusesAtOnce(envoy, gate, parallel, "/cart", answered500, "Cookie: "+client.Jar.Header("/cart")) {
		if status != http.StatusInternalServerError {
			t.Errorf("the host of a session answered 500, and its client got %d", status)
		}
	}
	if got := overflow(); got != 0 || stay(t, client, "/cart", 3) != home {
		t.Errorf("requests of a session were to be tried again: %d beyond the budget", got)
	}
	for _, status := range statusesAtOnce(envoy, gate, parallel, "/cart", answered500) {
		if status != http.StatusInternalServerError {
			t.Errorf("beyond the budget a client got %d, want what the host has answered", status)
		}
	}
	if overflow() == 0 {
		t.Error("no request was beyond the budget")
	}
	checkRefusedBeyondBudget(t, envoy, gate, pods[1])
}

// checkRefusedBeyondBudget sends requests of a session whose host refuses connections.
func checkRefusedBeyondBudget(t *testing.T, envoy *harness.Envoy, gate *harness.Gate, dead *harness.Backend) {
	t.Helper()
	line := cookieLine("cart", mint(t, envoy, "cart", dead.Address, harness.Dates{}))
	dead.Close()
	statuses := statusesAtOnce(envoy, gate, 20, "/cart", line)
	for _, status := range statuses {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("the host of a session refused, and its client got %d", status)
		}
	}
	if !slices.Contains(statuses, http.StatusServiceUnavailable) || !slices.Contains(statuses, http.StatusOK) {
		t.Errorf("%v, want 200 within the budget and 503 beyond it", statuses)
	}
}

// budgetPolicy lets so many retries be under way at once.
func budgetPolicy(count int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: pods, namespace: default}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  retryConstraint: {budget: {percent: 0}, minRetryRate: {count: %d, interval: 1s}}
`, count)
}

// statusesAtOnce sends requests that are all under way before backends answer the first, and gives what they were answered, 0 for not at
// all.
func statusesAtOnce(envoy *harness.Envoy, gate *harness.Gate, count int, path string, headers ...string) []int {
	statuses := make([]int, count)
	var all sync.WaitGroup
	var answered atomic.Int64
	for i := range statuses {
		client := envoy.Stranger()
		all.Go(func() {
			if response, err := client.Try(http.MethodGet, path, append(headers[:len(headers):len(headers)], harness.ReplyHold+": 1")...); err == nil {
				statuses[i] = response.Status
			}
			answered.Add(1)
		})
	}
	for int(answered.Load()) < count {
		if held := gate.Held(); held > 0 && held+int(answered.Load()) == count {
			gate.Open()
		}
		time.Sleep(5 * time.Millisecond)
	}
	all.Wait()
	return statuses
}

// countOK gives how many were answered 200; the others must be answered 503.
func countOK(t *testing.T, statuses []int) (ok int) {
	t.Helper()
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
