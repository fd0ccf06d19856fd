package kubernetes

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
)

// TestMetrics: a queue and what is kept show in the metrics, a queue that begins again included.
func TestMetrics(t *testing.T) {
	registry, s := prometheus.NewRegistry(), NewSource(nil, nil)
	s.RegisterSize(registry)
	s.set(t.Context(), schema.GroupKind{Kind: "Service"}, &object{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "o"}, text: []byte("{}")})
	m := NewQueueMetrics(registry)
	for range 2 {
		q := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "statuses", MetricsProvider: m})
		q.Add("a")
		key, _ := q.Get()
		q.Done(key)
		q.ShutDown()
	}
	found := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		one := f.GetMetric()[0]
		found[f.GetName()] = one.GetGauge().GetValue() + one.GetCounter().GetValue() + float64(one.GetHistogram().GetSampleCount())
	}
	for name, want := range map[string]float64{
		"limpet_cache_objects": 1, "limpet_cache_bytes": 2, "workqueue_adds_total": 2, "workqueue_depth": 0,
		"workqueue_queue_duration_seconds": 2, "workqueue_work_duration_seconds": 2,
	} {
		if got, has := found[name]; !has || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestWriteMetrics: each result of a write is there at 0 before the first.
func TestWriteMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewStatusMetrics(registry)
	NewMemoryMetrics(registry)
	families, err := registry.Gather()
	if err != nil || len(families) != 2 {
		t.Fatalf("%d metrics, %v", len(families), err)
	}
	for _, f := range families {
		if len(f.GetMetric()) != 4 {
			t.Errorf("%s has %d results", f.GetName(), len(f.GetMetric()))
		}
	}
}
