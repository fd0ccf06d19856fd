package gateway

import (
	"maps"
	"slices"

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
		for _, d := range domains {
			ranked := b.matchesFor(key, d)
			if !b.isolated && !d.owner.StreamsOnly() {
				b.tellEqual(d.hostname, ranked)
			}
			port.Hosts = append(port.Hosts, newHost(d.hostname, d.owner, withoutRanks(ranked)))
		}
		ports = append(ports, port)
	}
	return ports
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
	// owner is the most specific listener that covers it. Requests belong to that one, and to no other listener of the port
	// (Gateway API's listener isolation); so a listener without routes has a host without matches, which answers 404.
	owner *Listener
}

// newOwnedHost makes one of a hostname that a listener of the port covers.
func newOwnedHost(listeners map[string]*listener, hostname string) ownedHost {
	covering := coverings(hostname)
	return ownedHost{hostname, covering, ownerOf(listeners, covering)}
}

// listOwnedHosts gives every hostname that makes a difference on a port: those of the listeners, and those at which routes are attached
// to the listener that they belong to. Of those that cover a host, each but the most specific one covers the more specific ones too; so
// it is enough that a proxy looks at the most specific.
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

// matchesFor gives the matches for requests to a domain.
func (b *builder) matchesFor(port portKey, d ownedHost) []rankedMatch {
	var ranked []rankedMatch
	seen := map[*Route]bool{}
	for _, hostname := range d.covering {
		if len(ranked) > 0 && d.owner.StreamsOnly() {
			break // the first has all of a host's connections
		}
		for _, route := range b.routesAt(hostname, port, d) {
			if seen[route] {
				continue
			}
			seen[route] = true
			wildness := slices.IndexFunc(d.covering, func(h string) bool { return hasHostname(route, h) })
			for _, m := range matchesOf(route) {
				ranked = append(ranked, rankedMatch{m, wildness})
			}
		}
	}
	slices.SortFunc(ranked, func(x, y rankedMatch) int { return compareMatches(x, y, b.order) })
	return ranked
}

// hasHostname reports whether a hostname is one that a route gives; without any it gives all.
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
