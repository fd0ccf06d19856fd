package xds

import "github.com/prometheus/client_golang/prometheus"

// connected is the metric of Envoys that are connected, by Gateway: that of a Gateway without any is 0. Those of
// Gateways that there are not, of which anybody may name as many as he likes, are counted together.
type connected struct{ *Server }

var connectedDesc = prometheus.NewDesc(
	"limpet_xds_streams", "Envoys that are connected, by Gateway.", []string{"gateway"}, nil,
)

// Describe is prometheus.Collector's.
func (c connected) Describe(to chan<- *prometheus.Desc) { to <- connectedDesc }

// Collect is prometheus.Collector's.
func (c connected) Collect(to chan<- prometheus.Metric) {
	for key, count := range c.countStreams() {
		to <- prometheus.MustNewConstMetric(connectedDesc, prometheus.GaugeValue, float64(count), key)
	}
}

// countStreams counts the streams of each Gateway that there is something for, and under no name those of all others.
func (s *Server) countStreams() map[string]int {
	counts := map[string]int{}
	s.lock.Lock()
	defer s.lock.Unlock()
	for key, g := range s.gateways {
		switch n := len(g.streams); {
		case g.isThere():
			counts[key] = n
		case n > 0:
			counts[""] += n
		}
	}
	return counts
}
