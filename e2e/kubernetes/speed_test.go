package kubernetes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// The ports of the two backends, which answer at every address of the pods' range.
const (
	firstPort  = 18081
	secondPort = 18082
)

// quantiles says what the middle, the worst but for one of a hundred, and the worst are.
func quantiles(all []time.Duration) string {
	return fmt.Sprintf("p50 %.0f ms, p99 %.0f ms, the worst %.0f ms", percentile(50, all), percentile(99, all), percentile(100, all))
}

// TestSpeed has the shapes of howardjohn/gateway-api-bench: attached routes, route probe, route scale, and endpoints besides. Its full
// size is "make bench-serve", which prints the figures of docs/serve.md; in its small size it holds that nothing takes seconds, that
// no new route answers 5xx, and that statuses are written seldom.
func TestSpeed(t *testing.T) {
	w := newSpeedWorld(t, "--route-budget", "100") // for 30,000 routes on one Gateway
	tell := func(format string, args ...any) { fmt.Printf("speed: "+format+"\n", args...) }
	if err := w.addService(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	before := w.countAttached(t)

	n := harness.Size(100, 1000)
	writes, statuses := w.writes.Load(), w.serving.Metric(t, "limpet_status_writes_total")
	w.each(t, n, func(ctx context.Context, i int) error { return w.addRoute(ctx, i, "speed-0") })
	begun := time.Now()
	w.attached(t, before+int64(n))
	up := time.Since(begun)
	eventually(t, "each route has its status", func() bool { return w.countRoutesWithStatus(t) >= n })
	w.each(t, n, w.removeRoute)
	begun = time.Now()
	w.attached(t, before)
	down := time.Since(begun)
	writes = w.writes.Load() - writes
	each := (w.serving.Metric(t, "limpet_status_writes_total") - statuses - float64(writes)) / float64(n)
	tell("attached routes: %d in %d ms, away in %d ms; the Gateway written %d times, each route %.2f", n, up.Milliseconds(), down.Milliseconds(), writes, each)
	refused := w.serving.Metric(t, `limpet_status_writes_total{result="conflict"}`)
	if writes > 100 || each < .95 || each > 1.05 || refused > 0 || up > 10*time.Second {
		t.Errorf("%d writes of the Gateway, %.2f of each route, %.0f refused, %v", writes, each, refused, up)
	}

	routes := harness.Size(200, 5000)
	w.fill(t, 1, routes, 1)
	probes := harness.Size(10, 200)
	tell("route probe: with %d routes, idle: %s", routes, quantiles(w.probe(t, 100_000, probes)))
	stop := w.churn(t, routes)
	tell("route probe: with %d routes, 10 changed a second: %s", routes, quantiles(w.probe(t, 200_000, probes)))
	stop()
	tell("route scale: with %d routes and endpoints: %s", routes, w.cost(t, harness.Size(time.Second, 30*time.Second)))
	endpoints := harness.Size(1, 10)
	if harness.FullSize() {
		w.each(t, routes, func(ctx context.Context, i int) error { // ten for each
			return updateText(ctx, w.slices, endpointsText(i, endpoints, firstPort))
		})
		w.fill(t, routes, 2*routes, endpoints)
		routes *= 2
		tell("route probe: with %d routes and %d endpoints, idle: %s", routes, routes*endpoints, quantiles(w.probe(t, 300_000, probes)))
	}
	tell("endpoints: with %d routes and %d endpoints: %s", routes, routes*endpoints, quantiles(w.moveEndpoints(t, probes, endpoints)))
	tell("route scale: with %d routes and %d endpoints: %s", routes, routes*endpoints, w.cost(t, harness.Size(time.Second, 30*time.Second)))
	w.empty(t, routes)
}
