package xds

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestConnectedByGateway: the Envoys that are connected are counted by Gateway, and one without any is at 0 until it is gone; names that
// strangers make up are no labels.
func TestConnectedByGateway(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, log, connect := startServer(t, Options{Deadline: time.Second, Metrics: NewMetrics(registry)})
	s.Set("default/one", listed(t, time.Now(), "cluster a"))
	s.Set("default/two", listed(t, time.Now(), "cluster a"))
	for _, node := range []string{"a", "b"} {
		connect(node, "default/one")
		connect("of no Gateway "+node, "default/claimed-"+node)
		await(t, "both are connected", func() bool { return log.has("connected "+node) && log.has("connected of no Gateway "+node) })
	}
	counts := func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "limpet_xds_streams" {
					found[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		return found
	}
	if got, want := counts(), (map[string]float64{"default/one": 2, "default/two": 0, "": 2}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.Remove("default/two", time.Now())
	if got, want := counts(), (map[string]float64{"default/one": 2, "": 2}); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
