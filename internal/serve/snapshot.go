package serve

import (
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// NewSnapshot is what the proxies of a Gateway are served.
func NewSnapshot(since time.Time, d *envoy.Served) *xds.Snapshot {
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
		r.Origin = pluginText(d.PluginJSON)
	}
	return xds.NewSnapshot(since, resources)
}

// pluginText is the text of a filter's configuration, which may hold keys.
type pluginText []byte
