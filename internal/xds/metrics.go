package xds

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are a server's.
type Metrics struct {
	to         prometheus.Registerer
	stages     *prometheus.HistogramVec
	own        prometheus.Histogram
	pushes     *prometheus.CounterVec
	resources  *prometheus.CounterVec
	rejections *prometheus.CounterVec
	late       prometheus.Counter
	refused    prometheus.Counter
	unknown    prometheus.Gauge
	ended      *prometheus.CounterVec
	excess     *prometheus.CounterVec
}

// NewMetrics makes a server's metrics, of which one alone has a label for Gateways, and none one for a route or a
// client.
func NewMetrics(to prometheus.Registerer) *Metrics {
	registered := promauto.With(to)
	m := &Metrics{
		to: to,
		stages: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "limpet_xds_change_ack_seconds",
			Help:    "From a change being seen to an Envoy's acknowledgement of it, by stage.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60},
		}, []string{"stage"}),
		own: registered.NewHistogram(prometheus.HistogramOpts{
			Name:    "limpet_xds_change_send_seconds",
			Help:    "From a change being seen to its first messages to an Envoy that owes no answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
		}),
		pushes: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "limpet_xds_pushes_total", Help: "Messages to Envoys, by type.",
		}, []string{"type"}),
		resources: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "limpet_xds_resources_total", Help: "Resources that were sent to Envoys, or taken away, by type.",
		}, []string{"type", "action"}),
		rejections: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "limpet_xds_nacks_total", Help: "Messages that Envoys did not take, by type.",
		}, []string{"type"}),
		late: registered.NewCounter(prometheus.CounterOpts{
			Name: "limpet_xds_late_total", Help: "Times that an Envoy did not answer within the deadline.",
		}),
		refused: registered.NewCounter(prometheus.CounterOpts{
			Name: "limpet_xds_refused_total", Help: "Clients that were turned away: without a certificate, or with a wrong one.",
		}),
		unknown: registered.NewGauge(prometheus.GaugeOpts{
			Name: "limpet_xds_unknown_connections", Help: "Connections of which it is not known who they are.",
		}),
		ended: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "limpet_xds_unknown_ended_total",
			Help: "Connections that were ended without it being known who they were: late, or too many.",
		}, []string{"reason"}),
		excess: registered.NewCounterVec(prometheus.CounterOpts{
			Name: "limpet_xds_excess_total",
			Help: "Envoys that were cut off for what goes beyond a limit: a message, names, memory, streams.",
		}, []string{"limit"}),
	}
	m.startAtZero()
	return m
}

// startAtZero makes every series: a counter that begins at 1 has no increase that an alert could see.
func (m *Metrics) startAtZero() {
	for t := range typeCount {
		m.pushes.WithLabelValues(t.String())
		m.resources.WithLabelValues(t.String(), "sent")
		m.resources.WithLabelValues(t.String(), "removed")
		m.rejections.WithLabelValues(t.String())
	}
	for _, reason := range []string{"late", "many"} {
		m.ended.WithLabelValues(reason)
	}
	for _, limit := range []string{"message", "names", "memory", "streams"} {
		m.excess.WithLabelValues(limit)
	}
}
