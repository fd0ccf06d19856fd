package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestFilterChanges: an Envoy that runs goes from limpet.wasm to the native filter and back while clients use their sessions:
// none moves, and no request fails.
func TestFilterChanges(t *testing.T) {
	if !harness.Native() {
		t.Skip("runs with the native filter's tests: make e2e-native")
	}
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	t.Run("serve", func(t *testing.T) {
		t.Parallel()
		s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"))
		envoy := s.Bootstrap(t).Start(t)
		s.AwaitAcknowledged(t)
		checkFilterChanges(t, envoy, func(filter string) {
			s.Terminate(t)
			s.ServeFilter(t, filter == "native")
			s.AwaitAcknowledged(t)
		})
	})
}

// checkFilterChanges goes from the native filter to the other and back, twice.
func checkFilterChanges(t *testing.T, envoy *harness.Envoy, change func(filter string)) {
	t.Helper()
	clients := beginSessions(t, envoy, 12)
	before := envoy.SessionTotal(t)
	tally := clients.During(func() {
		for range 2 {
			for _, filter := range []string{"wasm", "native"} {
				change(filter)
				eventually(t, "requests go through the filter "+filter, func() bool { return usesFilter(t, envoy, filter) })
			}
		}
		time.Sleep(time.Second)
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	if before == 0 {
		t.Error("the native filter had counted nothing before the first change")
	}
}

// usesFilter tells whether a filter's counters go up by a request.
func usesFilter(t *testing.T, envoy *harness.Envoy, filter string) bool {
	t.Helper()
	namespace := map[string]string{"wasm": "wasmcustom", "native": "dynamicmodulescustom"}[filter]
	before := envoy.Admin(t, "/stats?filter=^"+namespace+".limpet_sessions")
	time.Sleep(50 * time.Millisecond)
	after := envoy.Admin(t, "/stats?filter=^"+namespace+".limpet_sessions")
	return strings.Contains(after, "outcome.pinned") && after != before
}
