package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// packShards packs the tables of a site's shards again, of which those stay that have not changed. Changed are the
// domains of the hosts that have; all are packed where there are no tables yet, or other keys.
func (s *siteHosts) packShards(g *servedGateway, siteName string, changed map[string]bool) (err error) {
	last := s.shards
	if s.keyed.keys != g.keys {
		s.keyed, last = keyedHosts{keys: g.keys}, nil
	}
	domains := slices.Collect(maps.Keys(changed))
	if last == nil {
		domains = slices.Concat(s.among, s.after)
	}
	hosts, err := s.listShardHosts(domains)
	if err == nil {
		s.shards, err = g.assembly.PackShards(siteName, hosts, s.sessions, s.clusters.names, last)
	}
	if err != nil {
		s.shards = nil // what is left of the last ones is something else
		return err
	}
	s.routes = s.shards.Whole
	return nil
}

// listShardHosts gives what there is of some domains, with the keys of their scopes if these travel.
func (s *siteHosts) listShardHosts(domains []string) ([]envoy.ShardHost, error) {
	hosts := make([]envoy.ShardHost, len(domains))
	var there []int
	var written []envoy.WrittenHost
	for i, domain := range domains {
		hosts[i].Domain = domain
		if h := s.host(domain); h != nil {
			hosts[i].Content, hosts[i].Shards = h.Text(s.sessions), h.Shards
			hosts[i].Routes, hosts[i].Clusters = h.Routes, h.Clusters
			there, written = append(there, i), append(written, envoy.WrittenHost{Content: hosts[i].Content, Scopes: h.Scopes})
		}
	}
	if s.keyed.keys == nil {
		return hosts, nil
	}
	contents, err := s.keyed.keys.AddKeys(written)
	for i, content := range contents {
		hosts[there[i]].Content = content
	}
	return hosts, err
}

// addShards gives a configuration the tables of its listeners' shards.
func (m *merged) addShards(d *envoy.Served, listeners []ir.Listener) {
	d.Scopes, d.ShardTables = nil, nil
	for _, l := range listeners {
		for _, s := range m.listSites(l) {
			if tables := m.sites[s.key].shards; tables != nil {
				d.AddShards(tables)
			}
		}
	}
}
