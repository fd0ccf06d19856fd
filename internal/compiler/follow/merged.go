package follow

import (
	"bytes"
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// merged is what the frame and all groups come to.
type merged struct {
	assembly  envoy.Assembly
	scopeKeys *envoy.ScopeKeys // what proxies get in place of the assembly's keys; nil for nothing
	listeners []ir.Listener
	sites     map[string]*siteHosts
	clusters  map[string]*sharedCluster
	// gateways are what a server gives to their proxies, by their keys, which gatewayNames has in order.
	gateways     map[string]*servedGateway
	gatewayNames []gatewayName
	policies     map[string]*policyconfig.Policy
	draining     map[ir.HostKey]int
	untils       map[time.Time]int
	pods         map[ir.HostKey][]podCount
	otherPods    map[ir.HostKey]bool // the addresses whose pods may be others than when that was last asked for
	unsettled    int                 // clusters of parts
	touched      touchedParts
	// stale is what has changed since the configuration was put together last.
	stale stale
	// longestUnused is the longest time for which a session of the policies goes on without a request.
	longestUnused time.Duration
}

// touchedParts is what may not be as it was when changes were last asked for, with what it was; nil for nothing.
type touchedParts struct {
	listeners bool
	hosts     map[hostKey][]byte
	clusters  map[string]*envoy.Cluster
	policies  map[string]*policyconfig.Policy
}

func newTouched() touchedParts {
	return touchedParts{hosts: map[hostKey][]byte{}, clusters: map[string]*envoy.Cluster{}, policies: map[string]*policyconfig.Policy{}}
}

// stale is what has to be put together anew.
type stale struct {
	listeners, policies bool
	sites               map[string]bool
	hosts               map[string]map[string]bool // by site, domains
	// settings and endpoints are the clusters of which these have changed, and inline says that one of them has or had its
	// endpoints inside.
	settings, endpoints []string
	inline              bool
}

func newStale() stale { return stale{sites: map[string]bool{}, hosts: map[string]map[string]bool{}} }

func (s *stale) noteHost(key hostKey) {
	if s.hosts[key.site] == nil {
		s.hosts[key.site] = map[string]bool{}
	}
	s.sites[key.site], s.hosts[key.site][key.domain] = true, true
}

// keyedSite is a part of a listener with routes of its own, by a name that it has for itself among those of all Gateways.
type keyedSite struct {
	envoy.Site
	key string
}

// listSites gives a listener's sites, in order.
func (m *merged) listSites(l ir.Listener) (all []keyedSite) {
	for _, s := range envoy.ListSites(l) {
		all = append(all, keyedSite{s, l.Gateway + "/" + s.Name})
	}
	return all
}

// siteHosts are the virtual hosts of a site.
type siteHosts struct {
	of string // the key of its Gateway; empty where Gateways share listeners
	// gateway is what that one serves, clusters are those that its routes lead to, and routes is how these were packed last.
	gateway  *servedGateway
	clusters usage
	routes   envoy.Packed
	shards   *envoy.ShardTables // nil for none

	shell   map[string]*ir.Host // those that are there without any route
	texts   map[string]*envoy.HostText
	written map[string]*envoy.HostText // of the shell's
	keyed   keyedHosts
	among   []string // domains, the more specific first
	after   []string
	// sessions says that most routes have some, on which the texts depend: tally counts them, and counted has the hosts in it.
	sessions bool
	tally    envoy.Tally
	counted  map[string]*envoy.HostText
}

// sharedCluster is a cluster that several groups may use.
type sharedCluster struct {
	config ir.Cluster
	users  int
	text   *envoy.Cluster // nil until it is written
}

func newMerged(a envoy.Assembly) *merged {
	return &merged{
		assembly: a, sites: map[string]*siteHosts{}, clusters: map[string]*sharedCluster{},
		policies: map[string]*policyconfig.Policy{}, draining: map[ir.HostKey]int{}, untils: map[time.Time]int{},
		pods: map[ir.HostKey][]podCount{}, otherPods: map[ir.HostKey]bool{}, gateways: map[string]*servedGateway{},
		touched: newTouched(), stale: newStale(),
	}
}

// isShellHost reports whether a site has the host without any route, as it is.
func (m *merged) isShellHost(siteName string, h *ir.Host) bool {
	shell := m.sites[siteName].shell[h.Domain]
	return shell != nil && (len(h.Routes) == 0 || reflect.DeepEqual(shell, h))
}

// setSites begins anew with the sites of some Gateways.
func (m *merged) setSites(listeners []ir.Listener, of func(gateway string) bool) {
	for name, site := range m.sites {
		if !of(site.of) {
			continue
		}
		for domain := range site.texts {
			m.touchHost(hostKey{name, domain})
		}
		for domain := range site.shell {
			m.touchHost(hostKey{name, domain})
		}
		delete(m.sites, name)
	}
	maps.DeleteFunc(m.gateways, func(key string, _ *servedGateway) bool { return of(key) })
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
		of: l.Gateway, shell: map[string]*ir.Host{}, texts: map[string]*envoy.HostText{}, written: map[string]*envoy.HostText{},
		counted: map[string]*envoy.HostText{}, gateway: m.findGateway(l.Gateway), clusters: newUsage(),
	}
	m.sites[s.key], m.stale.sites[s.key] = site, true
	among, after := listShellHosts(l, s.Site)
	for i := range among {
		site.among = append(site.among, among[i].Domain)
		site.shell[among[i].Domain] = &among[i]
	}
	for i := range after {
		site.after = append(site.after, after[i].Domain)
		site.shell[after[i].Domain] = &after[i]
	}
	slices.SortFunc(site.among, gateway.BySpecificity)
	for domain := range site.shell {
		m.touchHost(hostKey{s.key, domain})
	}
}

func (m *merged) touchListeners(f *frame) {
	m.listeners, m.gatewayNames, m.touched.listeners = f.listeners, f.gateways, true
}

// touchHost notes what a host was.
func (m *merged) touchHost(key hostKey) {
	if _, touched := m.touched.hosts[key]; touched {
		return
	}
	var was []byte
	if site := m.sites[key.site]; site != nil {
		was = site.text(key.domain)
	}
	m.touched.hosts[key] = was
}

// host is what was written of a host; nil if there is none.
func (s *siteHosts) host(domain string) *envoy.HostText {
	if text := s.texts[domain]; text != nil {
		return text
	}
	return s.written[domain]
}

// text is the form of it that the site's table has.
func (s *siteHosts) text(domain string) []byte {
	if h := s.host(domain); h != nil {
		return h.Text(s.sessions)
	}
	return nil
}

// recount counts the routes of a host anew that have sessions, and the clusters that it leads to.
func (s *siteHosts) recount(domain string) {
	was, now := s.counted[domain], s.host(domain)
	if was != nil {
		s.count(was, -1)
	}
	if now == nil {
		delete(s.counted, domain)
		return
	}
	s.counted[domain] = now
	s.count(now, 1)
}

func (s *siteHosts) count(h *envoy.HostText, by int) {
	s.tally.Sessions += by * h.Sessions
	s.tally.Routes += by * h.Routes
	s.clusters.count(h.Clusters, by)
	s.gateway.clusters.count(h.Clusters, by)
}

// settleForms gives the hosts of a site the form of which most of its routes are, once all are written.
func (m *merged) settleForms(sites map[string][]string) {
	for key := range m.touched.hosts {
		if site := m.sites[key.site]; site != nil {
			site.recount(key.domain)
		}
	}
	for name := range sites {
		site := m.sites[name]
		if most := site.tally.Most(); most != site.sessions {
			for _, d := range slices.Concat(site.among, site.after) {
				m.touchHost(hostKey{name, d})
			}
			site.sessions, m.stale.sites[name] = most, true
		}
	}
}

// touchCluster notes what a cluster was.
func (m *merged) touchCluster(name string) {
	if _, touched := m.touched.clusters[name]; touched {
		return
	}
	m.touched.clusters[name] = nil
	if c := m.clusters[name]; c != nil {
		m.touched.clusters[name] = c.text
	}
}

// touchPolicy notes what a session policy was.
func (m *merged) touchPolicy(name string) {
	if _, touched := m.touched.policies[name]; !touched {
		m.touched.policies[name] = m.policies[name]
	}
}

// addPart puts in what a group of routes comes to.
func (m *merged) addPart(p *groupPart) {
	for _, h := range p.hosts {
		m.touchHost(h.hostKey)
		m.sites[h.site].texts[h.domain] = h.text
	}
	for i := range p.clusters {
		c := &p.clusters[i]
		m.touchCluster(c.Name)
		if m.clusters[c.Name] == nil {
			m.clusters[c.Name] = &sharedCluster{}
		}
		m.clusters[c.Name].users++
		m.setCluster(&c.Cluster)
		m.remember(&c.Remembered, 1)
	}
	for i := range p.policies {
		m.touchPolicy(p.policies[i].Name)
		m.policies[p.policies[i].Name] = &p.policies[i]
	}
}

// setCluster notes what a cluster is. It is written anew if it is another.
func (m *merged) setCluster(now *ir.Cluster) {
	if known := m.clusters[now.Name]; !reflect.DeepEqual(&known.config, now) {
		known.config, known.text = *now, nil
	}
}

// replaceCluster puts a cluster of a part in the place of the one that it was.
func (m *merged) replaceCluster(was, now *lower.Cluster) {
	m.remember(&now.Remembered, 1)
	m.remember(&was.Remembered, -1)
	m.touchCluster(now.Name)
	m.setCluster(&now.Cluster)
}

// addStreams puts in what the routes of connections in a frame come to, but for the listeners.
func (m *merged) addStreams(f *frame) {
	m.addPart(f.streams)
	m.countStreams(f.listeners, 1)
}

// removeStreams takes it out again.
func (m *merged) removeStreams(f *frame) {
	m.removePart(f.streams)
	m.countStreams(f.listeners, -1)
}

// countStreams counts the clusters that listeners lead connections to.
func (m *merged) countStreams(listeners []ir.Listener, by int) {
	for _, l := range listeners {
		if clusters := listStreamClusters(l); len(clusters) > 0 {
			m.findGateway(l.Gateway).clusters.count(clusters, by)
		}
	}
}

// removePart takes it out again. A cluster that nothing uses stays until the next one is asked for.
func (m *merged) removePart(p *groupPart) {
	for _, h := range p.hosts {
		m.touchHost(h.hostKey)
		if site := m.sites[h.site]; site != nil {
			delete(site.texts, h.domain)
		}
	}
	for i := range p.clusters {
		c := &p.clusters[i]
		m.touchCluster(c.Name)
		m.clusters[c.Name].users--
		m.remember(&c.Remembered, -1)
	}
	for i := range p.policies {
		m.touchPolicy(p.policies[i].Name)
		delete(m.policies, p.policies[i].Name)
	}
}

// remember counts what there is to remember of a cluster's hosts in or out.
func (m *merged) remember(r *ir.Remembered, by int) {
	for _, at := range r.Draining {
		count(m.draining, at, by)
	}
	for _, at := range r.Pods {
		m.countPod(at, by)
	}
	if !r.Until.IsZero() {
		count(m.untils, r.Until, by)
	}
	if r.Unsettled {
		m.unsettled += by
	}
}

// count counts a key in or out.
func count[K comparable](counts map[K]int, key K, by int) {
	if counts[key] += by; counts[key] == 0 {
		delete(counts, key)
	}
}

// podCount is how many clusters of parts have a pod, by its uid.
type podCount struct {
	uid   string
	count int
}

// countPod counts a pod in or out.
func (m *merged) countPod(pod ir.PodAt, by int) {
	there := m.pods[pod.HostKey]
	at := slices.IndexFunc(there, func(p podCount) bool { return p.uid == pod.UID })
	if at < 0 {
		at, there = len(there), append(there, podCount{uid: pod.UID})
		m.otherPods[pod.HostKey] = true
	}
	if there[at].count += by; there[at].count == 0 {
		there = slices.Delete(there, at, at+1)
		m.otherPods[pod.HostKey] = true
	}
	if m.pods[pod.HostKey] = there; len(there) == 0 {
		delete(m.pods, pod.HostKey)
	}
}

// listPods lists the uids of the pods at an address, in order.
func (m *merged) listPods(at ir.HostKey) (uids []string) {
	for _, p := range m.pods[at] {
		uids = append(uids, p.uid)
	}
	slices.Sort(uids)
	return uids
}

// manyTouched is from how many touched items on an order is made anew, not mended.
const manyTouched = 256

// mendOrder brings a list of names in order up to date with those that have been touched.
func mendOrder(names []string, touched []string, isThere func(string) bool, compare func(a, b string) int) []string {
	if len(touched) > manyTouched {
		known := make(map[string]bool, len(names)+len(touched))
		for _, list := range [][]string{names, touched} {
			for _, n := range list {
				known[n] = true
			}
		}
		names = names[:0]
		for n := range known {
			if isThere(n) {
				names = append(names, n)
			}
		}
		slices.SortFunc(names, compare)
		return names
	}
	for _, n := range touched {
		at, known := slices.BinarySearchFunc(names, n, compare)
		switch there := isThere(n); {
		case there && !known:
			names = slices.Insert(names, at, n)
		case !there && known:
			names = slices.Delete(names, at, at+1)
		}
	}
	return names
}

// settle brings all orders up to date, and writes the clusters that are not written.
func (m *merged) settle() error {
	bySite := map[string][]string{}
	for key := range m.touched.hosts {
		if site := m.sites[key.site]; site != nil {
			domains := bySite[key.site]
			if !slices.Contains(site.after, key.domain) {
				domains = append(domains, key.domain)
			}
			bySite[key.site] = domains // also without a new one: the site is touched
		}
	}
	for name, domains := range bySite {
		site := m.sites[name]
		site.among = mendOrder(site.among, domains, func(d string) bool { return site.shell[d] != nil || site.texts[d] != nil },
			gateway.BySpecificity)
	}
	var names []string
	for name := range m.touched.clusters {
		names = append(names, name)
		if c := m.clusters[name]; c != nil && c.users == 0 {
			delete(m.clusters, name)
		}
	}
	err := cmp.Or(m.writeShell(), m.writeClusters(names))
	m.settleForms(bySite)
	return err
}

// writeShell writes the hosts that are there without any route, once.
func (m *merged) writeShell() error {
	for name, site := range m.sites {
		for domain, h := range site.shell {
			if site.written[domain] != nil {
				continue
			}
			texts, err := envoy.Renderer{}.RenderHosts(m.assembly, envoy.Site{Name: name, Hosts: []ir.Host{*h}})
			if err != nil {
				return err
			}
			site.written[domain] = &texts[0]
		}
	}
	return nil
}

// writeClusters writes those of some names that are not written.
func (m *merged) writeClusters(names []string) error {
	var missing []*sharedCluster
	var configs []ir.Cluster
	for _, name := range names {
		if c := m.clusters[name]; c != nil && c.text == nil {
			missing, configs = append(missing, c), append(configs, c.config)
		}
	}
	texts, err := envoy.Renderer{}.RenderClusters(configs)
	for i := range texts {
		missing[i].text = &texts[i]
	}
	return err
}

// noteStale notes what has changed since the last time.
func (m *merged) noteStale() {
	m.stale.listeners = m.stale.listeners || m.touched.listeners
	for name, was := range m.touched.policies {
		m.stale.policies = m.stale.policies || !reflect.DeepEqual(was, m.policies[name])
	}
	for key, was := range m.touched.hosts {
		var now []byte
		if site := m.sites[key.site]; site != nil {
			now = site.text(key.domain)
		}
		if !bytes.Equal(was, now) {
			m.stale.noteHost(key)
		}
	}
	for name, was := range m.touched.clusters {
		now := &envoy.Cluster{}
		if c := m.clusters[name]; c != nil {
			now = c.text
		}
		m.stale.noteCluster(name, cmp.Or(was, &envoy.Cluster{}), now)
	}
	m.touched = newTouched()
}

// noteCluster notes what has changed of a cluster: its settings, its endpoints or both.
func (s *stale) noteCluster(name string, was, now *envoy.Cluster) {
	if !bytes.Equal(was.Settings, now.Settings) {
		s.settings = append(s.settings, name)
	}
	if !was.PackEndpoints().Equal(now.PackEndpoints()) {
		s.endpoints = append(s.endpoints, name)
	}
	s.inline = s.inline || was.Inline || now.Inline
}
