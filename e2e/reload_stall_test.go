package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// rulesEach is as many rules as an HTTPRoute may have.
const rulesEach = 16

// manyPolicies are documents with so many session policies, of which one is used.
func manyPolicies(pods []*harness.Backend, count int) harness.Documents {
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"))
	for i := range count / rulesEach {
		route := harness.Route{Name: fmt.Sprintf("route-%03d", i)}
		for j := range rulesEach {
			rule := harness.CookieRule(fmt.Sprintf("s%03d-%02d", i, j), "pods")
			rule.Session.AbsoluteTimeout = "8h"
			route.Rules = append(route.Rules, rule)
		}
		documents.Routes = append(documents.Routes, route)
	}
	return documents
}

// TestReloadOfManyPolicies measures what a new plugin configuration with thousands of policies costs: the longest time that a
// steady client waits, and the memory that stays. No request fails, no session moves, and Envoy does not keep the
// configurations that it replaced.
func TestReloadOfManyPolicies(t *testing.T) {
	t.Parallel()
	ring := harness.NewRing("a", "b")
	policies, reloads := harness.Size(2_500, 10_000), harness.Size(10, 20)
	s := harness.RunWatching(t, manyPolicies(harness.Backends(t, "a", "b", "c"), policies), ring)
	var longest atomic.Int64
	clients := harness.NewClients(t, 1, func(int) func() (harness.Response, error) {
		get := harness.Getter(s.Client(), "/cart", quietly)
		return func() (harness.Response, error) {
			begin := time.Now()
			defer func() { longest.Store(max(longest.Load(), int64(time.Since(begin)))) }()
			return get()
		}
	})
	clients.Every = 2 * time.Millisecond
	rings := []string{ring.Only("a", "b").JSON(t), ring.Only("b", "a").JSON(t)}
	var sizes []int
	tally := clients.During(func() {
		for n := range reloads {
			line := s.SetKeys(t, rings[(n+1)%2])
			sizes = append(sizes, s.ResidentKB(t))
			t.Logf("%s; Envoy has %d MB", line, sizes[n]>>10)
		}
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	// When old configurations stayed, each left 10 kB a policy behind, eight or eighteen times after the second reload.
	grown := sizes[len(sizes)-1] - sizes[1]
	if most := 24 * policies; grown > most {
		t.Errorf("after %d reloads Envoy has %d MB more than after two, want %d at most", reloads, grown>>10, most>>10)
	}
	stall := time.Duration(longest.Load()).Round(time.Millisecond)
	harness.RecordResult(t, "the plugin configuration of a large deployment is reloaded", harness.Result{
		Requests: tally.Requests, Sessions: 1, Changes: reloads, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d policies: the longest wait of a steady client was %v; Envoy has %d MB, and had %d MB after two reloads", policies, stall, sizes[len(sizes)-1]>>10, sizes[1]>>10),
	})
}
