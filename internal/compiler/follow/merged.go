package follow

import (
	"cmp"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// merged is what the base and all groups come to.
type merged struct {
	assembly  envoy.Assembly
	keys      policyconfig.Keys // of the assembly, as they were given
	scopeKeys *envoy.ScopeKeys  // what proxies get in place of the assembly's keys; nil for nothing
	sites     map[string]*siteHosts
	clusters  map[string]*sharedCluster
	gateways  map[string]*servedGateway // what a server gives to their proxies, by their keys
	// unused counts the policies by the longest time for which their sessions go on without a request.
	unused map[time.Duration]int
	// draining, untils and pods are what clusters of parts remember, unacknowledged counts those that are not
	// acknowledged, and podsAt has the uids of the pods at each address.
	draining       map[ir.HostKey]int
	untils         map[time.Time]int
	pods           counted[ir.PodAt]
	podsAt         index.Sets[ir.HostKey, string]
	unacknowledged int
	// was is what hosts and clusters were when the configuration was put together last.
	was earlierTexts
}

// earlierTexts is what was served last, of what may be another since; nil for nothing.
type earlierTexts struct {
	listeners bool
	hosts     earlier[hostKey, []byte]
	clusters  earlier[string, *envoy.Cluster]
}

func newEarlierTexts() earlierTexts {
	return earlierTexts{hosts: earlier[hostKey, []byte]{}, clusters: earlier[string, *envoy.Cluster]{}}
}

// listSites gives a listener's sites, in order.
func (m *merged) listSites(l ir.Listener) (all []keyedSite) {
	for _, s := range envoy.ListSites(l) {
		all = append(all, keyedSite{s, l.Gateway + "/" + s.Name})
	}
	return all
}

func newMerged(a envoy.Assembly) *merged {
	return &merged{
		assembly: a, sites: map[string]*siteHosts{}, clusters: map[string]*sharedCluster{},
		gateways: map[string]*servedGateway{}, unused: map[time.Duration]int{},
		draining: map[ir.HostKey]int{}, untils: map[time.Time]int{}, pods: newCounted[ir.PodAt](),
		podsAt: index.Sets[ir.HostKey, string]{}, was: newEarlierTexts(),
	}
}

// setSites begins again with the sites of some Gateways.
func (m *merged) setSites(listeners []ir.Listener, of func(gateway string) bool) {
	for key, g := range m.gateways {
		if !of(key) {
			continue
		}
		for _, site := range g.sites {
			for _, domain := range slices.Concat(site.among, site.after) {
				m.touchHost(hostKey{site.key, domain})
			}
			delete(m.sites, site.key)
		}
		delete(m.gateways, key)
	}
	for _, l := range listeners {
		if !of(l.Gateway) {
			continue
		}
		for _, s := range m.listSites(l) {
			m.addSite(l, s)
		}
	}
}

func (m *merged) addSite(l ir.Listener, s keyedSite) {
	site := &siteHosts{
		name: s.Name, key: s.key, gateway: m.findGateway(l.Gateway), clusters: newUsage(), empty: map[string]*ir.Host{},
		texts: map[string]*envoy.HostText{}, written: map[string]*envoy.HostText{}, keyed: map[string][]byte{},
		tallied: map[string]*envoy.HostText{},
	}
	m.sites[s.key], site.gateway.sites = site, append(site.gateway.sites, site)
	among, after := listEmptyHosts(l, s.Site)
	for i := range among {
		site.among = append(site.among, among[i].Domain)
		site.empty[among[i].Domain] = &among[i]
	}
	for i := range after {
		site.after = append(site.after, after[i].Domain)
		site.empty[after[i].Domain] = &after[i]
	}
	slices.SortFunc(site.among, gateway.BySpecificity)
	for domain := range site.empty {
		m.touchHost(hostKey{s.key, domain})
	}
}

// touchHost notes what a host was.
func (m *merged) touchHost(key hostKey) { m.was.hosts.note(key, m.text(key)) }

// text is the form of a host that its site's table has; nil for none.
func (m *merged) text(key hostKey) []byte {
	if site := m.sites[key.site]; site != nil {
		if h := site.host(key.domain); h != nil {
			return h.Text(site.sessions)
		}
	}
	return nil
}

// countPart puts in what a group of routes comes to, or takes it out again. A cluster that nothing uses stays until the
// next one is asked for.
func (m *merged) countPart(p *groupPart, by int) {
	present := by > 0
	for _, h := range p.hosts {
		m.touchHost(h.hostKey)
		if site := m.sites[h.site]; site != nil {
			put(site.texts, h.domain, h.text, present)
		}
	}
	for i := range p.clusters {
		c := &p.clusters[i]
		m.touchCluster(c.Name)
		if m.clusters[c.Name] == nil {
			m.clusters[c.Name] = &sharedCluster{}
		}
		if m.clusters[c.Name].users += by; present {
			m.setCluster(&c.Cluster)
		}
		m.remember(&c.Remembered, by)
	}
	for i := range p.policies {
		count(m.unused, p.policies[i].LongestUnused(), by)
	}
}

// countStreams puts in what the routes of connections in a base come to, but for the listeners, or takes it out again.
func (m *merged) countStreams(f *base, by int) {
	m.countPart(f.streams, by)
	for _, l := range f.listeners {
		if clusters := listStreamClusters(l); len(clusters) > 0 {
			m.findGateway(l.Gateway).clusters.count(clusters, by)
		}
	}
}

// remember counts what there is to remember of a cluster's hosts in or out.
func (m *merged) remember(r *ir.Remembered, by int) {
	for _, at := range r.Draining {
		count(m.draining, at, by)
	}
	for _, pod := range r.Pods {
		m.pods.add(pod, by)
	}
	if !r.Until.IsZero() {
		count(m.untils, r.Until, by)
	}
	if r.Unacknowledged {
		m.unacknowledged += by
	}
}

// finish brings all orders up to date, and writes the clusters that are not written.
func (m *merged) finish() error {
	var names []string
	for name := range m.was.clusters {
		names = append(names, name)
		if c := m.clusters[name]; c != nil && c.users == 0 {
			delete(m.clusters, name)
		}
	}
	err := m.writeClusters(names)
	if len(m.was.hosts) > 0 {
		err = cmp.Or(m.finishHosts(), err)
	}
	return err
}

// finishHosts brings the sites up to date of which hosts were touched.
func (m *merged) finishHosts() (err error) {
	touched := map[*siteHosts][]string{}
	for key := range m.was.hosts {
		if site := m.sites[key.site]; site != nil {
			touched[site] = append(touched[site], key.domain)
		}
	}
	for site, domains := range touched {
		err = cmp.Or(err, site.finish(m.assembly, domains))
	}
	return err
}
