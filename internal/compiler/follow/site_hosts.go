package follow

import (
	"reflect"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// keyedSite is a part of a listener with routes of its own, by a name that it has for itself among those of all
// Gateways.
type keyedSite struct {
	envoy.Site
	key string
}

// siteHosts are the virtual hosts of a site.
type siteHosts struct {
	name, key string // as in keyedSite
	// gateway is that of its Gateway, clusters are those that its routes lead to, and routes is how these were packed.
	gateway  *servedGateway
	clusters usage
	routes   *envoy.Packed      // nil for none
	shards   *envoy.ShardTables // nil for none

	empty   map[string]*ir.Host // those that are there without any route
	texts   map[string]*envoy.HostText
	written map[string]*envoy.HostText // of empty
	keyed   map[string][]byte          // with the keys of their scopes; without those that were not asked for
	among   []string                   // domains, the more specific first
	after   []string
	// sessions says that most routes have some, on which the texts depend: tally counts them, and tallied has the hosts in
	// it.
	sessions bool
	tally    envoy.Tally
	tallied  map[string]*envoy.HostText
}

// isEmptyHost reports whether a site has the host without any route, as it is.
func (m *merged) isEmptyHost(siteName string, h *ir.Host) bool {
	empty := m.sites[siteName].empty[h.Domain]
	return empty != nil && (len(h.Routes) == 0 || reflect.DeepEqual(empty, h))
}

// host is what was written of a host; nil if there is none.
func (s *siteHosts) host(domain string) *envoy.HostText {
	if text := s.texts[domain]; text != nil {
		return text
	}
	return s.written[domain]
}

// recount counts the routes of a host again that have sessions, and the clusters that it leads to.
func (s *siteHosts) recount(domain string) {
	was, now := s.tallied[domain], s.host(domain)
	if was == now {
		return
	}
	delete(s.keyed, domain)
	if was != nil {
		s.count(was, -1)
	}
	if now == nil {
		delete(s.tallied, domain)
		return
	}
	s.tallied[domain] = now
	s.count(now, 1)
}

func (s *siteHosts) count(h *envoy.HostText, by int) {
	s.tally.Sessions += by * h.Sessions
	s.tally.Routes += by * h.Routes
	s.clusters.count(h.Clusters, by)
	s.gateway.clusters.count(h.Clusters, by)
}

// finish brings the order of the hosts up to date, and gives them the form of which most of their routes are, where
// hosts of some domains may be others.
func (s *siteHosts) finish(a envoy.Assembly, touched []string) error {
	isAfter := func(d string) bool { return slices.Contains(s.after, d) }
	isThere := func(d string) bool { return s.empty[d] != nil || s.texts[d] != nil }
	s.among = mendOrder(s.among, slices.DeleteFunc(slices.Clone(touched), isAfter), isThere, gateway.BySpecificity)
	err := s.writeEmpty(a)
	for _, domain := range touched {
		s.recount(domain)
	}
	if most := s.tally.Most(); most != s.sessions {
		s.sessions = most
		s.forgetRoutes()
	}
	return err
}

// forgetRoutes has the routes packed again, of other texts.
func (s *siteHosts) forgetRoutes() {
	s.routes, s.shards, s.keyed = nil, nil, map[string][]byte{}
}

// listTexts gives what there is of some domains, nil for none, with the keys of their scopes if these travel. Texts
// that have not changed are the same ones as the last time.
func (s *siteHosts) listTexts(domains []string, keys *envoy.GatewayKeys) ([][]byte, error) {
	texts := make([][]byte, len(domains))
	var missing []envoy.WrittenHost
	var at []int
	for i, domain := range domains {
		h := s.host(domain)
		if h == nil {
			continue
		}
		texts[i] = h.Text(s.sessions)
		if keys == nil {
			continue
		}
		if keyed := s.keyed[domain]; keyed != nil {
			texts[i] = keyed
		} else {
			missing, at = append(missing, envoy.WrittenHost{Content: texts[i], Scopes: h.Scopes}), append(at, i)
		}
	}
	written, err := keys.AddKeys(missing)
	for i, content := range written {
		s.keyed[domains[at[i]]], texts[at[i]] = content, content
	}
	return texts, err
}

// writeEmpty writes the hosts that are there without any route, once.
func (s *siteHosts) writeEmpty(a envoy.Assembly) error {
	for domain, h := range s.empty {
		if s.written[domain] != nil {
			continue
		}
		texts, err := a.RenderHosts(nil, envoy.Site{Name: s.key, Hosts: []ir.Host{*h}})
		if err != nil {
			return err
		}
		s.written[domain] = &texts[0]
	}
	return nil
}
