package e2e

import (
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// A pass through the plugin may at most double what a request costs Envoy.
const passBound = 2

// TestPluginOnEveryRoute measures what the filter costs where it has nothing to do. On Istio a plugin runs on every
// request of its proxies; here it is turned on for all routes, and a route without a policy is compared with the
// same route without the filter.
func TestPluginOnEveryRoute(t *testing.T) {
	pods := harness.NewNullBackends(t, "a", "b", "c")
	deployment := harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))}
	without := plainCost(t, deployment)
	deployment.Tree = func(tree harness.Tree) { delete(tree.Filter(t, "limpet"), "disabled") }
	with := plainCost(t, deployment)
	off, on := time.Hour, time.Hour
	for round := 1; round <= mostRounds; round++ {
		off, on = min(off, without()), min(on, with())
		if round >= fewestRounds && on <= passBound*off {
			break
		}
	}
	t.Logf("a request without a policy: %v of Envoy's processor time without the filter, %v with it", off, on)
	if on > passBound*off {
		t.Errorf("the filter makes a request without a policy cost %.1f times as much", float64(on)/float64(off))
	}
}

// plainCost starts an Envoy; what it returns measures a request of its route without a policy.
func plainCost(t *testing.T, deployment harness.Deployment) func() time.Duration {
	const count = 10_000
	envoy := harness.Run(t, deployment)
	request := []byte("GET /plain HTTP/1.1\r\nHost: x\r\n\r\n")
	return func() time.Duration {
		before := envoy.CPU(t)
		envoy.SendLoad(t, count, func(_ int, buf []byte) []byte { return append(buf, request...) }, func(i int, head harness.Head) {
			if !head.OK() {
				t.Errorf("request %d: %s", i, head)
			}
		})
		return (envoy.CPU(t) - before) / count
	}
}
