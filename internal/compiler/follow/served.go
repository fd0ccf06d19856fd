package follow

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// servedGateway is what a server gives to the proxies of a Gateway.
type servedGateway struct {
	listeners []ir.Listener   // of last
	telemetry envoy.Telemetry // of last
	last      *envoy.Served
	clusters  usage
	sites     []*siteHosts // of its listeners, in order
	// keys are what its proxies have in place of a ring; nil where they have one. assembly is of the keys that they have.
	keys     *envoy.GatewayKeys
	assembly envoy.Assembly
	packed   *envoy.GatewayKeys // with which the routes of last were packed
}

// findGateway gives a Gateway by its key.
func (m *merged) findGateway(key string) *servedGateway {
	g := m.gateways[key]
	if g == nil {
		g = &servedGateway{clusters: newUsage()}
		m.gateways[key] = g
	}
	return g
}

// usage counts what leads to clusters.
type usage struct {
	counted[string]
	// names are those of clusters with users, in order, as of the last update. The list does not change once it is made.
	names []string
}

func newUsage() usage { return usage{counted: newCounted[string]()} }

func (u *usage) count(names []string, by int) {
	for _, name := range names {
		u.add(name, by)
	}
}

// update brings the names up to date, and tells whether they are others now.
func (u *usage) update() (changed bool) {
	others := slices.Collect(maps.Keys(u.take()))
	if len(others) == 0 {
		return false
	}
	isThere := func(name string) bool { return u.now[name] > 0 }
	if u.names = mendOrder(slices.Clone(u.names), others, isThere, cmp.Compare[string]); len(u.names) == 0 {
		u.names = nil
	}
	return true
}

// LongestUnused is the longest time for which a session goes on without a request.
func (s *State) LongestUnused() (longest time.Duration) {
	for unused := range s.merged.unused {
		longest = max(longest, unused)
	}
	return longest
}

// Served is what a server gives to the proxies of each Gateway. What has not changed since the last time is the same
// value. Scopes, if there is something, takes the place of the keys. Telemetry says what the proxies of a Gateway log
// and trace.
func (s *State) Served(
	keys policyconfig.Keys, scopes *envoy.ScopeKeys, telemetry func(gateway string) envoy.Telemetry,
) ([]*envoy.Served, error) {
	m := s.merged
	if err := m.setKeys(keys, scopes); err != nil {
		return nil, err
	}
	stale, listeners := m.findStale(), map[string][]ir.Listener{}
	for _, l := range s.base.listeners {
		listeners[l.Gateway] = append(listeners[l.Gateway], l)
	}
	all := make([]*envoy.Served, len(s.base.gateways))
	for i, name := range s.base.gateways {
		g := m.findGateway(name.key)
		if err := m.setGatewayKeys(g, name.id); err != nil {
			return nil, err
		}
		if err := m.serveGateway(name.key, g, listeners[name.key], telemetry(name.key), stale); err != nil {
			return nil, err
		}
		all[i] = g.last
	}
	m.was = newEarlierTexts()
	return all, nil
}

// setKeys writes the filter's configuration again if there are other keys.
func (m *merged) setKeys(keys policyconfig.Keys, scopes *envoy.ScopeKeys) error {
	if !reflect.DeepEqual(m.scopeKeys, scopes) {
		m.scopeKeys = scopes
	}
	settings := &m.assembly.Settings
	if settings.PluginJSON != nil && reflect.DeepEqual(m.keys, keys) {
		return nil
	}
	config, text, err := plugin.EmitApart(nil, plugin.GlobalOf(settings.Plugin, keys))
	if err == nil {
		settings.Plugin, settings.PluginJSON, m.keys = config, text, keys
	}
	return err
}

// setGatewayKeys gives a Gateway its part of the keys. With others its routes are packed again.
func (m *merged) setGatewayKeys(g *servedGateway, id string) (err error) {
	was := g.keys
	switch {
	case m.scopeKeys == nil:
		g.keys, g.assembly = nil, m.assembly
	case !g.keys.AreOf(m.scopeKeys, id):
		g.keys = m.scopeKeys.Of(id)
		g.assembly, err = m.assembly.WithKeys(g.keys)
	}
	if g.keys != was {
		for _, site := range g.sites {
			site.forgetRoutes()
		}
	}
	return err
}

// serveGateway puts what has changed of a Gateway together.
func (m *merged) serveGateway(
	key string, g *servedGateway, listeners []ir.Listener, telemetry envoy.Telemetry, s *stale,
) error {
	was := g.last
	if was == nil {
		was = &envoy.Served{}
	}
	next := *was
	isOther := g.hasOtherBase(s.listeners, listeners, telemetry)
	if isOther {
		based, err := g.assembly.ServeBase(key, listeners, telemetry)
		if err != nil {
			return err
		}
		based.Routes, based.Clusters, based.Endpoints = was.Routes, was.Clusters, was.Endpoints
		next = *based
	}
	routes := was.Routes
	if isOther || s.touched || g.packed != g.keys {
		var err error
		if routes, err = g.packRoutes(next.Sharded, s); err != nil {
			return err
		}
		g.packed = g.keys
	}
	sameRoutes := slices.Equal(routes, was.Routes)
	if !sameRoutes || isOther {
		next.Routes = routes
		g.addShards(&next)
	}
	otherClusters := m.patchClusters(g, &next, s)
	if !otherClusters && sameRoutes && !isOther {
		return nil
	}
	if isOther || otherClusters {
		next.PickSecrets(m.listClusters(g))
	}
	g.last, g.listeners, g.telemetry = &next, listeners, telemetry
	return nil
}

// hasOtherBase tells whether what is there without routes and clusters is another than last. Listeners may be other
// ones only if they are marked.
func (g *servedGateway) hasOtherBase(marked bool, listeners []ir.Listener, telemetry envoy.Telemetry) bool {
	return g.last == nil || marked && !reflect.DeepEqual(g.listeners, listeners) || !g.telemetry.Equal(telemetry) ||
		string(g.last.PluginJSON) != string(g.assembly.Settings.PluginJSON)
}

// packRoutes gives the routes of a Gateway's sites, of which those are made again that have changed, with those of
// shards where sites have some.
func (g *servedGateway) packRoutes(sharded map[string]bool, changed *stale) (all []*envoy.Packed, err error) {
	for _, s := range g.sites {
		hosts, isSharded := changed.hosts[s.key], sharded[s.name]
		if s.routes == nil || len(hosts) > 0 || (s.shards != nil) != isSharded {
			s.clusters.update()
			if isSharded {
				err = s.packShards(g, hosts)
			} else {
				err = s.packWhole(g)
			}
			if err != nil {
				return nil, err
			}
		}
		all = append(all, s.routes)
	}
	return all, nil
}

// packWhole packs a site's table, of which no shard has a part.
func (s *siteHosts) packWhole(g *servedGateway) error {
	s.shards = nil
	texts, err := s.listTexts(slices.Concat(s.among, s.after), g.keys)
	if err == nil {
		s.routes, err = g.assembly.PackRoutes(s.name, texts, s.sessions, s.clusters.names)
	}
	return err
}

// patchClusters brings a Gateway's clusters and endpoints up to date, and tells whether they are not as they were.
func (m *merged) patchClusters(g *servedGateway, d *envoy.Served, s *stale) (changed bool) {
	if g.clusters.update() || g.last == nil || s.apart {
		d.SetClusters(m.listClusters(g))
		return true
	}
	var settings, endpoints bool
	settingsOf := func(name string) *envoy.Packed { return m.clusters[name].text.Settings }
	endpointsOf := func(name string) *envoy.Packed { return m.clusters[name].text.Endpoints }
	d.Clusters, settings = d.Clusters.Replace(s.settings, settingsOf)
	d.Endpoints, endpoints = d.Endpoints.Replace(s.endpoints, endpointsOf)
	return settings || endpoints
}

// listClusters gives a Gateway's clusters.
func (m *merged) listClusters(g *servedGateway) iter.Seq[envoy.Cluster] {
	return func(yield func(envoy.Cluster) bool) {
		for _, name := range g.clusters.names {
			if c := m.clusters[name]; c != nil && !yield(*c.text) {
				return
			}
		}
	}
}
