package envoy_test

import (
	"slices"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// TestLeaveOut: endpoints without all hosts that have moved are those of the cluster without these, whatever else a locality has: a status
// that the proxy answers itself, TLS, hosts of another zone.
func TestLeaveOut(t *testing.T) {
	moved, far := host("10.0.0.1:80"), host("10.0.0.2:80")
	moved.Unacknowledged, far.Far = "uid", true
	stays := host("10.0.0.3:80")
	for name, localities := range map[string][]ir.Locality{
		"some of a Service":    {{Name: "a", Endpoints: []ir.Endpoint{moved, stays}}},
		"all of a Service":     {{Name: "a", Endpoints: []ir.Endpoint{moved}}},
		"with another zone":    {{Name: "a", Endpoints: []ir.Endpoint{moved, far, stays}}},
		"all of one of two":    {{Name: "a", Weight: 1, Endpoints: []ir.Endpoint{moved}}, {Name: "b", Weight: 1, Endpoints: []ir.Endpoint{stays}}},
		"with a direct answer": {{Name: "a", Weight: 1, Endpoints: []ir.Endpoint{moved}, DirectStatus: 503}, {Name: "b", Weight: 1}},
		"with TLS":             {{Name: "a", Weight: 1, Endpoints: []ir.Endpoint{moved, stays}, TLS: &ir.UpstreamTLS{}}, {Name: "b", Weight: 1}},
	} {
		serve := func(localities []ir.Locality) *envoy.Packed {
			t.Helper()
			config := twoClusters()
			config.Clusters = []ir.Cluster{{Name: "service/a/80", Localities: localities}}
			served, err := envoy.Serve(config.Clusters, newSettings(), []envoy.GatewayConfig{{Gateway: "default/one", Config: config}})
			if err != nil {
				t.Fatal(err)
			}
			return served[0].Endpoints.Slice()[0]
		}
		without := slices.Clone(localities)
		for i := range without {
			isIt := func(e ir.Endpoint) bool { return e.Unacknowledged != "" }
			without[i].Endpoints = slices.DeleteFunc(slices.Clone(without[i].Endpoints), isIt)
		}
		whole, want := serve(localities), serve(without)
		if len(want.Moved) > 0 || !slices.Equal(whole.Moved, []string{"10.0.0.1:80 uid"}) {
			t.Errorf("%s: %q have moved, and without them %q", name, whole.Moved, want.Moved)
		}
		got, err := envoy.LeaveOut(whole.Content, whole.Moved)
		if err != nil || string(got) != string(want.Content) {
			t.Errorf("%s: %v\n%q\nwant\n%q", name, err, got, want.Content)
		}
	}
}
