package follow

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// packShards packs the tables of a site's shards anew, of which those stay that have not changed, or forgets them. Texts are those of all
// hosts, in order.
func (s *siteHosts) packShards(a envoy.Assembly, siteName string, texts [][]byte, isSharded bool) (err error) {
	if !isSharded {
		s.shards = nil
		return nil
	}
	hosts := make([]envoy.ShardHost, 0, len(texts))
	for _, domain := range slices.Concat(s.among, s.after) {
		h := s.host(domain)
		hosts = append(hosts, envoy.ShardHost{Content: texts[len(hosts)], Shards: h.Shards, Routes: h.Routes, Clusters: h.Clusters})
	}
	s.shards, err = a.PackShards(siteName, hosts, s.sessions, s.shards)
	return err
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
