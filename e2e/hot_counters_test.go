package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestCountersGoOn: a change of policies or keys begins no counter again, also not that of a policy that no request has met
// since, nor those of the changes before.
func TestCountersGoOn(t *testing.T) {
	t.Parallel()
	ring := harness.NewRing("first", "second")
	w := harness.RunWatching(t, harness.OneRoute(harness.Backends(t, "a", "b"),
		harness.CookieRule("cart", "pods"), harness.CookieRule("quiet", "pods")), ring.Only("first"))
	begin := func(path string, count int) {
		for range count {
			visit(t, w.Client(), path)
		}
	}
	envoy := w.Envoy(t)
	want := func(after string, begun, quiet uint64) {
		t.Helper()
		const prefix, suffix = "wasmcustom.limpet_sessions.policy.default/app/rule/", ".outcome.new"
		got := envoy.Stats(t, `^wasmcustom\.limpet_sessions`)
		if got[prefix+"0"+suffix] != begun || got[prefix+"1"+suffix] != quiet {
			t.Errorf("after %s: %v, want %d and %d new sessions", after, got, begun, quiet)
		}
	}
	begin("/quiet", 3)
	for i, change := range []struct {
		name string
		make func()
	}{
		{"a policy", func() {
			w.Set(t, func(d *harness.Documents) { d.Routes[0].Rules[0].Session.AbsoluteTimeout = "7h" })
		}},
		{"a key", func() { w.SetKeys(t, ring.Only("second", "first").JSON(t)) }},
		{"the policy again", func() {
			w.Set(t, func(d *harness.Documents) { d.Routes[0].Rules[0].Session.AbsoluteTimeout = "6h" })
		}},
		{"the key gone", func() { w.SetKeys(t, ring.Only("second").JSON(t)) }},
	} {
		begin("/cart", 5)
		want("requests", uint64(5*(i+1)), 3)
		change.make()
		want(change.name, uint64(5*(i+1)), 3)
	}
	begin("/quiet", 1)
	want("all", 20, 4)
}
