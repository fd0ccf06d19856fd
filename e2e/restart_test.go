package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// quietly keeps backends from describing each request of many clients in their answers.
const quietly = harness.ReplyQuiet + ": 1"

// beginSessions begins sessions of the policy "cart" at an Envoy, each with a connection and a jar of its own.
func beginSessions(t *testing.T, envoy *harness.Envoy, count int) *harness.Clients {
	t.Helper()
	clients := harness.NewClients(t, count, func(int) func() (harness.Response, error) {
		return harness.Getter(envoy.Client(), "/cart", quietly)
	})
	clients.Every = 10 * time.Millisecond
	return clients
}

// TestEnvoyKilled: an Envoy that is killed and started again knows every session: its tokens hold them. Only requests
// while it was away fail.
//
// requirements: 2A.1, S38
func TestEnvoyKilled(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Workers = 2
	envoy := harness.Run(t, deployment)
	clients, kills := beginSessions(t, envoy, 24), harness.Size(2, 20)
	var away time.Duration
	tally := clients.During(func() {
		for range kills {
			begin := time.Now()
			envoy.Kill()
			envoy = envoy.Start(t)
			away += time.Since(begin)
			time.Sleep(500 * time.Millisecond)
		}
	})
	after := clients.During(func() { time.Sleep(500 * time.Millisecond) })
	lost := tally.Moved() + after.Moved()
	if lost > 0 || after.Failed() > 0 || tally.Failed() != tally.Errors["no answer"] {
		t.Errorf("%v\nafterwards %v", tally, after)
	}
	if tally.Failed() == 0 {
		t.Error("no request failed: was Envoy killed?")
	}
	harness.RecordResult(t, "Envoy killed (SIGKILL) and started again", harness.Result{
		Requests: tally.Requests + after.Requests, Sessions: clients.Size(), Faults: kills, Lost: lost, Errors: tally.Failed(),
		Note: fmt.Sprintf("all errors are connections refused or cut while it was away, %.1f s each time", away.Seconds()/float64(kills)),
	})
}

// TestHotRestart: Envoy's hot restart loses no request and no session.
func TestHotRestart(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Workers = 2
	envoy := harness.Run(t, deployment)
	restartHot(t, envoy, "hot restart of Envoy")
}

// restartHot restarts an Envoy hot, again and again, while clients with sessions are at work. The scenario is docs/reliability.md's.
func restartHot(t *testing.T, envoy *harness.Envoy, scenario string) {
	t.Helper()
	clients, restarts := beginSessions(t, envoy, 24), harness.Size(2, 20)
	tally := clients.During(func() {
		for range restarts {
			envoy = envoy.HotRestart(t)
			time.Sleep(500 * time.Millisecond)
		}
	})
	if tally.Moved() > 0 || tally.Failed() > 0 {
		t.Errorf("%v", tally)
	}
	harness.RecordResult(t, scenario, harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: restarts, Lost: tally.Moved(), Errors: tally.Failed(),
	})
}
