package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// packShards packs the tables of a site's shards again, of which those stay that have not changed. Changed are the
// domains of the hosts that have; all are packed where there are no tables yet.
func (s *siteHosts) packShards(g *servedGateway, changed map[string]bool) (err error) {
	last, domains := s.shards, slices.Collect(maps.Keys(changed))
	if last == nil {
		domains = slices.Concat(s.among, s.after)
	}
	hosts, err := s.listShardHosts(domains, g.keys)
	if err == nil {
		s.shards, err = g.assembly.PackShards(s.name, hosts, s.sessions, s.clusters.names, last)
	}
	if err != nil {
		s.shards = nil // what is left of the last ones is something else
		return err
	}
	s.routes = s.shards.Whole
	return nil
}

// listShardHosts gives what there is of some domains, with the keys of their scopes if these travel.
func (s *siteHosts) listShardHosts(domains []string, keys *envoy.GatewayKeys) ([]envoy.ShardHost, error) {
	texts, err := s.listTexts(domains, keys)
	hosts := make([]envoy.ShardHost, len(domains))
	for i, domain := range domains {
		hosts[i] = envoy.ShardHost{Domain: domain, Content: texts[i]}
		if h := s.host(domain); h != nil {
			hosts[i].Shards, hosts[i].Routes, hosts[i].Clusters = h.Shards, h.Routes, h.Clusters
		}
	}
	return hosts, err
}

// addShards gives a configuration the tables of a Gateway's shards.
func (g *servedGateway) addShards(d *envoy.Served) {
	d.Scopes, d.ShardTables = nil, nil
	for _, s := range g.sites {
		if s.shards != nil {
			d.AddShards(s.shards)
		}
	}
}
