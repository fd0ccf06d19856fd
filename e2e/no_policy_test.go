package e2e

import (
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestNoWasmWithoutPolicy shows it twice. With a working plugin, limpet counts one outcome for every request of a
// route with a policy and none for the others. With a plugin that could not start, Envoy answers 500 wherever the
// wasm filter is in the chain: every request of the route with a policy, no request of the one without.
//
// requirements: 2A.7, S1, S44
func TestNoWasmWithoutPolicy(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))
	t.Run("plugin runs", func(t *testing.T) {
		envoy := harness.Run(t, deployment)
		spread(t, envoy.Client(), "/plain", 100)
		if got := envoy.SessionTotal(t); got != 0 {
			t.Errorf("limpet counted %d outcomes on a route without a policy", got)
		}
		spread(t, envoy.Client(), "/cart", 20)
		if got := envoy.SessionTotal(t); got != 20 {
			t.Errorf("limpet counted %d outcomes of 20 requests on a route with a policy", got)
		}
	})
	t.Run("plugin can't start", func(t *testing.T) {
		discovery := &harness.Discovery{Broken: true}
		deployment.Tree = func(tree harness.Tree) { discovery.Install(t, tree) }
		envoy := harness.Run(t, deployment)
		spread(t, envoy.Client(), "/plain", 100)
		for range 20 {
			wantStatus(t, envoy.Client().Get(t, "/cart"), http.StatusInternalServerError)
		}
		got := envoy.Stats(t, `^http\..*\.downstream_rq_[25]xx$`)
		var good, bad uint64
		for name, value := range got {
			switch {
			case name == "http.admin.downstream_rq_2xx":
			case name[len(name)-3:] == "2xx":
				good += value
			default:
				bad += value
			}
		}
		if good != 100 || bad != 20 {
			t.Errorf("Envoy counted %d good and %d failed answers, want 100 and 20: %v", good, bad, got)
		}
	})
}
