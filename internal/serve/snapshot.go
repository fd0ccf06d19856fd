package serve

import (
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/rollout"
	"github.com/limpet-proxy/limpet/internal/xds"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// newSnapshot is what the proxies of a Gateway are served.
func newSnapshot(since time.Time, d *envoy.Served) *xds.Snapshot {
	resources := map[xds.Type][]*xds.Resource{}
	for t, all := range map[xds.Type][]envoy.Packed{
		xds.Cluster: d.Clusters, xds.Endpoint: d.Endpoints, xds.Secret: d.Secrets, xds.Filter: d.Filter,
		xds.Routes: d.Routes, xds.Listener: d.Listeners,
	} {
		for _, p := range all {
			r := xds.NewResource(t, p.Name, p.Content)
			r.Needs = p.Clusters
			resources[t] = append(resources[t], r)
		}
	}
	for _, r := range resources[xds.Filter] {
		(&filter{d, d.Plugin, d.PluginJSON}).unitable(r)
	}
	return xds.NewSnapshot(since, resources)
}

// filter is a filter's configuration, which others can be united with.
type filter struct {
	served *envoy.Served
	plugin policyconfig.Config
	text   []byte
}

// unitable lets a resource be united with an older one, which is one of these too.
func (f *filter) unitable(r *xds.Resource) {
	r.Origin = f
	r.Unite = func(older *xds.Resource) *xds.Resource {
		before, known := older.Origin.(*filter)
		if !known {
			return r
		}
		return f.unite(r, before)
	}
}

// unite gives the filter with the policies of both; the newer one's where that is not possible.
func (f *filter) unite(own *xds.Resource, before *filter) *xds.Resource {
	both, err := rollout.UnitePolicies(
		&envoy.Discovery{Plugin: before.plugin, PluginJSON: before.text}, &envoy.Discovery{Plugin: f.plugin, PluginJSON: f.text},
	)
	if err != nil {
		return own
	}
	plugin, errs := policyconfig.Parse(string(both))
	packed, err := f.served.WithPlugin(both)
	if err != nil || len(errs) > 0 {
		return own
	}
	united := xds.NewResource(xds.Filter, packed.Name, packed.Content)
	(&filter{f.served, plugin, both}).unitable(united)
	return united
}
