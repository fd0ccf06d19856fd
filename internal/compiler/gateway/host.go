package gateway

import (
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// layOutPorts lays out the ports that have listeners.
func (b *builder) layOutPorts() []Port {
	var ports []Port
	for _, key := range slices.SortedFunc(maps.Keys(b.ports), comparePorts) {
		listeners := b.ports[key]
		front := b.findFront(key, listeners)
		port := Port{
			Gateway: key.gateway, Address: key.at.Addr(), Number: key.at.Port(),
			TLS: speaksTLS(listeners), UDP: key.udp, Trusted: front.trusted, ProxyTLSPorts: front.tlsPorts,
		}
		domains := listOwnedHosts(listeners)
		b.tellCopies(key, domains)
		port.Hosts = b.layOutHosts(key, domains)
		ports = append(ports, port)
	}
	b.chooseSharded(ports)
	return ports
}

// layOutHosts lays out the hosts of a port. Those that share are one.
func (b *builder) layOutHosts(port portKey, domains []ownedHost) (hosts []Host) {
	known := map[string]int{}
	for _, d := range domains {
		placed := b.placedAt(port, d)
		key := sharingKey(d, placed)
		if at, is := known[key]; is {
			hosts[at].Others = append(hosts[at].Others, d.hostname)
			continue
		}
		if key != "" {
			known[key] = len(hosts)
		}
		ranked := b.rank(placed)
		if !b.isolated && !d.owner.StreamsOnly() {
			b.tellEqual(d.hostname, ranked)
		}
		hosts = append(hosts, newHost(d.hostname, d.owner, withoutRanks(ranked)))
	}
	return hosts
}

// sharingKey is the same for hosts whose matches are sure to be equal; empty for one that shares with none: a
// listener's own, which is there without routes too, those without any, and those that connections lead to.
func sharingKey(d ownedHost, placed []placedRoute) string {
	if d.hostname == d.owner.hostname || len(placed) == 0 || d.owner.StreamsOnly() {
		return ""
	}
	var key strings.Builder
	key.WriteString(d.owner.Key())
	for _, p := range placed {
		key.WriteString("\n" + p.route.Ref().String())
		if p.wildness > 0 {
			key.WriteString(" " + d.covering[p.wildness])
		}
	}
	return key.String()
}

// withoutRanks gives the matches alone.
func withoutRanks(ranked []rankedMatch) []Match {
	matches := make([]Match, len(ranked))
	for i, r := range ranked {
		matches[i] = r.Match
	}
	return matches
}

// newHost gives the matches of a host.
func newHost(domain string, owner *Listener, matches []Match) Host {
	if owner.StreamsOnly() {
		return Host{Domain: domain, Listener: owner, Streams: matches}
	}
	return Host{Domain: domain, Listener: owner, Matches: matches}
}

// StreamsOnly reports whether the listener takes connections, or datagrams, as they are, and no HTTP.
func (l *listener) StreamsOnly() bool {
	of := l.spec.Protocol
	return of == gatewayv1.TLSProtocolType || of == gatewayv1.TCPProtocolType || of == gatewayv1.UDPProtocolType
}

// ownedHost is a hostname that makes a difference on a port, with those that cover it, from itself to "*".
type ownedHost struct {
	hostname string
	covering []string
	// owner is the most specific listener that covers it. Requests belong to that one, and to no other listener of the
	// port (Gateway API's listener isolation); so a listener without routes has a host without matches, which answers 404.
	owner *Listener
}

// newOwnedHost makes one of a hostname that a listener of the port covers.
func newOwnedHost(listeners map[string]*listener, hostname string) ownedHost {
	covering := coverings(hostname)
	return ownedHost{hostname, covering, ownerOf(listeners, covering)}
}

// listOwnedHosts gives every hostname that makes a difference on a port: those of the listeners, and those at which
// routes are attached to the listener that they belong to. Of those that cover a host, each but the most specific one
// covers the more specific ones too; so it is enough that a proxy looks at the most specific.
func listOwnedHosts(listeners map[string]*listener) []ownedHost {
	var found []ownedHost
	for hostname, l := range listeners {
		found = append(found, newOwnedHost(listeners, hostname))
		for h := range l.attached {
			if d := newOwnedHost(listeners, h); d.owner == l && h != hostname {
				found = append(found, d)
			}
		}
	}
	slices.SortFunc(found, func(x, y ownedHost) int { return bySpecificity(x.hostname, y.hostname) })
	return found
}

// placedRoute is a route at a host. wildness is the index of the route's hostname among those that cover the host.
type placedRoute struct {
	route    *Route
	wildness int
}

// placedAt gives the routes for requests to a domain, each once.
func (b *builder) placedAt(port portKey, d ownedHost) (placed []placedRoute) {
	seen := map[*Route]bool{}
	for _, hostname := range d.covering {
		if len(placed) > 0 && d.owner.StreamsOnly() {
			break // the first has all of a host's connections
		}
		for _, route := range b.routesAt(hostname, port, d) {
			if !seen[route] {
				seen[route] = true
				wildness := slices.IndexFunc(d.covering, func(h string) bool { return hasHostname(route, h) })
				placed = append(placed, placedRoute{route, wildness})
			}
		}
	}
	return placed
}

// rank gives the matches of the routes at a host.
func (b *builder) rank(placed []placedRoute) (ranked []rankedMatch) {
	for _, p := range placed {
		for _, m := range matchesOf(p.route) {
			ranked = append(ranked, rankedMatch{m, p.wildness})
		}
	}
	slices.SortFunc(ranked, func(x, y rankedMatch) int { return compareMatches(x, y, b.order) })
	return ranked
}

// hasHostname reports whether a route has a hostname; a route without hostnames has all.
func hasHostname(route *Route, hostname string) bool {
	return slices.Contains(route.Value.Spec.Hostnames, gatewayv1.Hostname(hostname)) ||
		len(route.Value.Spec.Hostnames) == 0 && hostname == anyHost
}

// ownerOf is the most specific listener of a port among those that cover a hostname.
func ownerOf(listeners map[string]*listener, covering []string) *listener {
	for _, h := range covering {
		if l := listeners[h]; l != nil {
			return l
		}
	}
	return nil
}
