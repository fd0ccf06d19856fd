package e2e

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestPolicyChangesStallNothing changes session policies again and again under load, on routes that are used and on one of
// many others: no request fails or waits long, no session moves, no counter goes back, and no filter starts again.
//
// requirements: 2A.29
func TestPolicyChangesStallNothing(t *testing.T) {
	t.Parallel()
	changes, policies := harness.Size(40, 1_000), harness.Size(160, 1_600)
	s := harness.RunWatching(t, manyPolicies(harness.Backends(t, "a", "b", "c"), policies), harness.NewRing("a"))
	var longest atomic.Int64
	clients := harness.NewClients(t, 4, func(int) func() (harness.Response, error) {
		get := harness.Getter(s.Client(), "/cart", quietly)
		return func() (harness.Response, error) {
			begin := time.Now()
			defer func() { longest.Store(max(longest.Load(), int64(time.Since(begin)))) }()
			return get()
		}
	})
	clients.Every = 5 * time.Millisecond
	envoy := s.Envoy(t)
	before, reloads := map[string]uint64{}, countReloads(t, envoy)
	tally := clients.During(func() {
		for n := range changes {
			s.Set(t, func(d *harness.Documents) {
				route := d.Routes[n%2*(1+n%(len(d.Routes)-1))] // every other time the one that is used
				route.Rules[n%len(route.Rules)].Session.AbsoluteTimeout = fmt.Sprintf("%dm", 500+n)
			})
			before = wantNoneGoesBack(t, envoy, before)
		}
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	if now := countReloads(t, envoy); now != reloads {
		t.Errorf("the filter was configured %d times more", now-reloads)
	}
	stall := time.Duration(longest.Load()).Round(time.Millisecond)
	if harness.FullSize() && stall > 100*time.Millisecond {
		t.Errorf("a request waited %v", stall)
	}
	harness.RecordResult(t, "session policies of a large deployment change", harness.Result{
		Requests: tally.Requests, Sessions: 4, Changes: changes, Lost: tally.Moved(), Errors: tally.Failed(),
		Note: fmt.Sprintf("%d policies: the longest wait of a steady client was %v; no counter went back, no filter was reloaded",
			policies, stall),
	})
}

// wantNoneGoesBack compares the filter's counters with those of before, and gives them.
func wantNoneGoesBack(t *testing.T, envoy *harness.Envoy, before map[string]uint64) map[string]uint64 {
	t.Helper()
	now := envoy.Stats(t, `^wasmcustom\.limpet_sessions`)
	for name, value := range before {
		if now[name] < value {
			t.Errorf("%s was %d and is %d", name, value, now[name])
		}
	}
	return now
}

// countReloads tells how often Envoy has taken a configuration of the filter over.
func countReloads(t *testing.T, envoy *harness.Envoy) (taken uint64) {
	t.Helper()
	for _, value := range envoy.Stats(t, `^extension_config_discovery\..*\.config_reload$`) {
		taken += value
	}
	return taken
}
