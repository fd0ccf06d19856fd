package e2e

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// forgeries is how many forged tokens a flood has, no two alike.
const forgeries = 100_000

// forgedFlood is a mixture of valid sessions and forged tokens; request number i is valid where i is even.
type forgedFlood struct {
	costWorld
	valid, forged []string
	errors, lost  atomic.Int64
}

func (f *forgedFlood) isValid(i int) bool { return i%2 == 0 }

// mixture is request number i of valid and forged ones in turn; quiet is of valid ones alone.
func (f *forgedFlood) mixture(i int, buf []byte) []byte {
	if f.isValid(i) {
		return f.quiet(i/2, buf)
	}
	return fmt.Appendf(buf, "GET /cart HTTP/1.1\r\nHost: x\r\nCookie: cart=%s\r\n\r\n", f.forged[i/2%len(f.forged)])
}

func (f *forgedFlood) quiet(i int, buf []byte) []byte {
	return fmt.Appendf(buf, "GET /cart HTTP/1.1\r\nHost: x\r\nCookie: cart=%s\r\n\r\n", f.valid[i%len(f.valid)])
}

// check wants every request answered, and those of session number session by its host.
func (f *forgedFlood) check(session int, valid bool, head harness.Head) {
	if !head.OK() {
		f.errors.Add(1)
	}
	home := f.pods[session%len(f.valid)%len(f.pods)].Name
	if valid && !bytes.Contains(head, []byte("\r\nx-backend: "+home+"\r\n")) {
		f.lost.Add(1)
	}
}

// TestForgedFlood sends 100,000 different forged tokens among as many requests of sessions, at full speed: Envoy takes
// no more linear memory for them, none pins and no session suffers. Then it sends the mixture at a fixed rate of 30
// percent of what Envoy can do, where a request may cost at most half as much again as without the forged ones.
// It runs alone, before the parallel tests.
func TestForgedFlood(t *testing.T) {
	f := &forgedFlood{costWorld: newCostWorld(t)}
	f.valid, f.forged = f.tokens(t, f.envoy.Keys(), 300), f.tokens(t, harness.NewRing("first"), forgeries)
	capacity := f.capacity(t)
	linear := f.envoy.Stat(t, "wasmcustom.limpet_memory_bytes")
	f.envoy.SendLoad(t, 2*forgeries, f.mixture, func(i int, head harness.Head) { f.check(i/2, f.isValid(i), head) })
	if after := f.envoy.Stat(t, "wasmcustom.limpet_memory_bytes"); linear == 0 || after != linear {
		t.Errorf("linear memory went from %d to %d bytes", linear, after)
	}
	if got := f.envoy.Outcomes(t, "cart")["bad-signature"]; got != forgeries {
		t.Errorf("%d of %d forged tokens counted as bad-signature", got, forgeries)
	}
	sent, note := f.pace(t, 0.3*capacity)
	if f.errors.Load() > 0 || f.lost.Load() > 0 {
		t.Errorf("%d errors, %d requests of a session elsewhere", f.errors.Load(), f.lost.Load())
	}
	wantNoTrap(t, f.envoy)
	harness.RecordResult(t, "100,000 forged tokens", harness.Result{
		Requests: 2*forgeries + sent, Sessions: len(f.valid), Faults: forgeries,
		Lost: int(f.lost.Load()), Errors: int(f.errors.Load()),
		Note: fmt.Sprintf("linear memory %d kB, grown by 0; %s", linear>>10, note),
	})
}

// capacity is how many requests a second of sessions alone Envoy answers.
func (f *forgedFlood) capacity(t *testing.T) float64 {
	t.Helper()
	const count = 30_000
	begin := time.Now()
	f.envoy.SendLoad(t, count, f.quiet, func(i int, head harness.Head) { f.check(i, true, head) })
	return count / time.Since(begin).Seconds()
}

// pace compares what a request costs at a steady rate with and without forged tokens, in rounds as wantCheap does.
func (f *forgedFlood) pace(t *testing.T, rate float64) (sent int, note string) {
	t.Helper()
	count := int(rate * harness.Size(2, 20.0))
	costs, latencies := [2]time.Duration{time.Hour, time.Hour}, [2]harness.Latencies{}
	var ratio float64
	progress := harness.NewProgress(t)
	for round := 1; round <= mostRounds; round++ {
		for i, request := range []func(int, []byte) []byte{f.quiet, f.mixture} {
			before := f.envoy.CPU(t)
			all := f.envoy.SendAtRate(t, rate, count, request, func(n int, head harness.Head) {
				f.check(n/(i+1), i == 0 || f.isValid(n), head)
			})
			costs[i] = min(costs[i], (f.envoy.CPU(t)-before)/time.Duration(count))
			latencies[i] = append(latencies[i], f.ofSessions(all, i == 1)...)
			sent += count
			progress.Say("round %d, %d requests at %.0f a second", round, sent, rate)
		}
		ratio = float64(costs[1]) / float64(costs[0])
		if round >= fewestRounds && ratio <= 1.5 {
			break
		}
	}
	if ratio > 1.5 {
		t.Errorf("a request costs %v, and %v among forged tokens: %.2f times as much", costs[0], costs[1], ratio)
	}
	return sent, fmt.Sprintf("at %.0f requests a second %v of CPU each and %v; half of them forged %v (%.2f times) and %v for sessions",
		rate, costs[0], latencies[0], costs[1], ratio, latencies[1])
}

// ofSessions leaves the latencies of forged requests out.
func (f *forgedFlood) ofSessions(all harness.Latencies, mixed bool) harness.Latencies {
	var kept harness.Latencies
	for i, latency := range all {
		if !mixed || f.isValid(i) {
			kept = append(kept, latency)
		}
	}
	return kept
}
