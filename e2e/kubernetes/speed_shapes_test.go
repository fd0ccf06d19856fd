package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/internal/barchart"
)

// shape is how many routes there are, and how many each host has.
type shape struct{ routes, shared int }

// allShapes are ROUTES/ROUTES OF A HOST; LIMPET_SHAPES names others.
const allShapes = "1000/1,5000/1,5000/10,5000/1000,10000/1,30000/1"

func listShapes(t *testing.T) (shapes []shape) {
	t.Helper()
	for text := range strings.SplitSeq(cmp.Or(os.Getenv("LIMPET_SHAPES"), harness.Size("200/10", allShapes)), ",") {
		s := shape{}
		if _, err := fmt.Sscanf(text, "%d/%d", &s.routes, &s.shared); err != nil {
			t.Fatalf("LIMPET_SHAPES: %q is not ROUTES/ROUTES OF A HOST: %v", text, err)
		}
		shapes = append(shapes, s)
	}
	return shapes
}

// TestSpeedShapes compares one table of routes with tables for shards, for each shape on the same API server: how long a new route takes,
// what of that is Envoy's main thread and limpet's own, and what a start takes. It holds that Envoys find their routes in the way that is
// measured, and that none answers 5xx. Its full size is a part of "make bench-serve".
func TestSpeedShapes(t *testing.T) {
	harness.RequireShards(t)
	w := newSpeedWorld(t, "--route-budget", "100")
	if err := w.addService(t.Context(), 0, 1); err != nil {
		t.Fatal(err)
	}
	var bars []barchart.Bar
	for n, s := range listShapes(t) {
		w.shared, w.of = s.shared, s.routes
		w.fill(t, 1, s.routes, 1)
		for _, way := range []struct {
			name, routes string
			filter       []string
		}{{"one table", "", harness.WithoutShards(t)}, {"shards", "sharded", nil}} {
			w.serveAgain(t, way.filter, way.routes)
			name := fmt.Sprintf("%d routes, %d a host, %s", s.routes, s.shared, way.name)
			bars = append(bars, w.measureShape(t, name, 1_000_000*(n+1)))
		}
		w.each(t, s.routes, w.removeRoute)
		w.removeServicesFrom(t, 1, s.routes)
	}
	w.removeServices(t, 1)
	if harness.FullSize() && os.Getenv("LIMPET_SHAPES") == "" {
		draw(t, bars)
	}
}

// draw puts what was measured into the documentation, beside what the best others take.
func draw(t *testing.T, bars []barchart.Bar) {
	t.Helper()
	bars = append(bars, barchart.Bar{Title: "Istio on 16 cores, 5000 routes, 1 a host", Low: 300, Mid: 300, High: 300, Value: "300"})
	chart := barchart.Draw("From before a route is written until it answers while nothing else changes, ms: p50, and a line to p99", bars)
	if err := os.WriteFile(filepath.Join(harness.Root(t), "docs", "serve.svg"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
}

// percentile gives the time that so many of a hundred do not exceed, in milliseconds. It sorts them.
func percentile(percent int, all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[(percent*len(all)+99)/100-1].Microseconds()) / 1000 // by nearest rank
}

// serveAgain starts limpet with a filter, nil for the usual one, and an Envoy, in the place of those there are.
func (w *speedWorld) serveAgain(t *testing.T, filter []string, routes string) {
	t.Helper()
	w.envoy.Stop()
	w.serving.Terminate(t)
	if filter == nil {
		w.serving.ServeAgain(t)
	} else {
		w.serving.ServeFrom(t, filter...)
	}
	begun := time.Now()
	w.envoy = w.serving.Bootstrap(t).Start(t)
	for {
		if connection, err := net.Dial("tcp", harness.Loopback(w.port)); err == nil {
			_ = connection.Close()
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	host, path := w.place(w.of - 1)
	for status := 0; status != http.StatusOK; time.Sleep(5 * time.Millisecond) {
		status, _ = w.getPath(t, host, path)
	}
	fmt.Printf("shapes: an Envoy starts in %d ms\n", time.Since(begun).Milliseconds())
	w.serving.AwaitAcknowledged(t)
	w.serving.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool {
		return e.Routes == routes || routes == "" && strings.HasPrefix(e.Routes, "whole")
	})
}

// measureShape adds routes one after the other, while nothing else changes and while 10 routes do each second. The bar is
// what the former took.
func (w *speedWorld) measureShape(t *testing.T, name string, from int) (idle barchart.Bar) {
	t.Helper()
	probes := harness.Size(5, 100)
	for _, others := range []string{"idle", "10 changed a second"} {
		stop := func() {}
		if others != "idle" {
			stop = w.churn(t, w.of)
		}
		const own = "limpet_xds_change_send_seconds"
		main, sum, count := w.envoy.MainThread(t), w.serving.Metric(t, own+"_sum"), w.serving.Metric(t, own+"_count")
		begun := time.Now()
		took := w.probe(t, from, probes)
		over := time.Since(begun)
		main, sum, count = w.envoy.MainThread(t)-main, w.serving.Metric(t, own+"_sum")-sum, w.serving.Metric(t, own+"_count")-count
		stop()
		changes := max(count, 1)
		fmt.Printf("shapes: %s, %s: %s; for each of %.0f changes %.1f ms of Envoy's main thread and %.1f ms of limpet's own, in %.1f s\n",
			name, others, quantiles(took), count, float64(main.Microseconds())/1000/changes, 1000*sum/changes, over.Seconds())
		from += 1000
		if others == "idle" {
			middle := percentile(50, took)
			idle = barchart.Bar{
				Title: name, Low: middle, Mid: middle, High: percentile(99, took), Value: fmt.Sprintf("%.0f", middle), Ours: strings.Contains(name, "shards"),
			}
		}
	}
	answers := w.envoy.Stats(t, `^http\.port-.*downstream_rq_5xx$`)
	fmt.Printf("shapes: %s: Envoy has %d MiB, limpet %.0f; answers with 5xx: %v\n", name, w.envoy.ResidentKB(t)/1024,
		w.serving.Metric(t, "process_resident_memory_bytes")/(1<<20), answers)
	for stat, n := range answers {
		if n > 0 {
			t.Errorf("%s: %s is %d", name, stat, n)
		}
	}
	return idle
}

func (w *speedWorld) removeServicesFrom(t *testing.T, from, to int) {
	w.each(t, to-from, func(ctx context.Context, i int) error { return w.removeService(ctx, from+i) })
}
