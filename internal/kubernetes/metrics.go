package kubernetes

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
)

// QueueMetrics are those of queues of work, under the names that Kubernetes' own have.
type QueueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	waited, worked             *prometheus.HistogramVec
}

// NewQueueMetrics makes them.
func NewQueueMetrics(to prometheus.Registerer) *QueueMetrics {
	labels := []string{"name"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_" + name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, labels)
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "workqueue_" + name, Help: help, Buckets: prometheus.ExponentialBuckets(1e-4, 10, 7),
		}, labels)
	}
	m := &QueueMetrics{
		depth:      gauge("depth", "Objects that wait."),
		unfinished: gauge("unfinished_work_seconds", "How long the work has taken that is under way, all together."),
		longest:    gauge("longest_running_processor_seconds", "How long the longest of the work takes that is under way."),
		adds:       counter("adds_total", "Objects that were added."),
		retries:    counter("retries_total", "Objects that were added once more."),
		waited:     histogram("queue_duration_seconds", "How long objects waited."),
		worked:     histogram("work_duration_seconds", "How long the work on an object took."),
	}
	to.MustRegister(m.depth, m.unfinished, m.longest, m.adds, m.retries, m.waited, m.worked)
	return m
}

// What follows is workqueue.MetricsProvider's.

// NewDepthMetric is how many objects wait.
func (m *QueueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return m.depth.WithLabelValues(name)
}

// NewAddsMetric counts what is added.
func (m *QueueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return m.adds.WithLabelValues(name)
}

// NewLatencyMetric is how long an object waits.
func (m *QueueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return m.waited.WithLabelValues(name)
}

// NewWorkDurationMetric is how long the work on an object takes.
func (m *QueueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return m.worked.WithLabelValues(name)
}

// NewUnfinishedWorkSecondsMetric is for work that is under way.
func (m *QueueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.unfinished.WithLabelValues(name)
}

// NewLongestRunningProcessorSecondsMetric is for the longest of that.
func (m *QueueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return m.longest.WithLabelValues(name)
}

// NewRetriesMetric counts what is added once more.
func (m *QueueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return m.retries.WithLabelValues(name)
}

// RegisterSize has metrics say how much of the API server's objects is kept.
func (s *Source) RegisterSize(to prometheus.Registerer) {
	to.MustRegister(
		prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "limpet_cache_objects", Help: "Objects of the API server that are kept."},
			func() float64 { objects, _ := s.size(); return float64(objects) },
		),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "limpet_cache_bytes", Help: "The text of those objects."},
			func() float64 { _, bytes := s.size(); return float64(bytes) }),
	)
}

func (s *Source) size() (objects, bytes int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, o := range s.objects {
		bytes += len(o.text) + len(o.status)
	}
	return len(s.objects), bytes
}

// NewStatusMetrics makes the metric of status writes, and the function that it is told by.
func NewStatusMetrics(to prometheus.Registerer) func(result string) {
	return newWriteMetrics(to, "limpet_status_writes_total", "Statuses that were written, by what became of it.")
}

// NewMemoryMetrics makes the metric of writes of what is remembered, and the function that it is told by.
func NewMemoryMetrics(to prometheus.Registerer) func(result string) {
	return newWriteMetrics(
		to,
		"limpet_memory_writes_total",
		"Objects with what is remembered that were written, by what became of it.",
	)
}

// newWriteMetrics makes a counter of writes by their result. All results are there from the start: so the first failure
// is an increase.
func newWriteMetrics(to prometheus.Registerer, name, help string) func(result string) {
	writes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"result"})
	for _, result := range []string{WriteDone, WriteConflict, WriteGone, WriteFailed} {
		writes.WithLabelValues(result)
	}
	to.MustRegister(writes)
	return func(result string) { writes.WithLabelValues(result).Inc() }
}
