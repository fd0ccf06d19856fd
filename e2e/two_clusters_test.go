package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestTwoClusters: with one ring and the same manifests in two clusters a session stays where both lead to its host, and moves once, with a
// good token at once, where they don't; with another ring it begins again.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	ring, shared, here, there := harness.NewRing("k"), harness.Backends(t, "a", "b"), harness.Backends(t, "c"), harness.Backends(t, "d")
	run := func(keys harness.Ring, pods []*harness.Backend) *harness.Envoy {
		return harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods")), Keys: keys})
	}
	for name, c := range map[string]struct {
		first, second []*harness.Backend
		keys          harness.Ring
		outcome       string
	}{
		"hosts in common": {shared, shared, ring, "pinned"},
		"hosts apart":     {here, there, ring, "moved"},
		"another ring":    {here, there, harness.NewRing("other"), "unknown-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := run(ring, c.first), run(c.keys, c.second)
			begun := visit(t, first.Stranger(), "/cart")
			token := wantToken(t, begun, "cart").Value
			answer := visit(t, second.Stranger(), "/cart", cookieLine("cart", token))
			wantOutcomes(t, second, "cart", map[string]uint64{c.outcome: 1})
			if c.outcome == "pinned" {
				if answer.Backend != begun.Backend {
					t.Errorf("%s answers, not %s", answer.Backend, begun.Backend)
				}
				return
			}
			token = wantToken(t, answer, "cart").Value
			visit(t, second.Stranger(), "/cart", cookieLine("cart", token))
			wantOutcomes(t, second, "cart", map[string]uint64{c.outcome: 1, "pinned": 1})
		})
	}
}
