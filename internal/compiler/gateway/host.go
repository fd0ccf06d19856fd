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
		for _, domain := range listDomains(listeners) {
			owner, ranked := b.matchesFor(listeners, domain)
			if !b.isolated && !owner.StreamsOnly() {
				b.tellEqual(domain, ranked)
			}
			port.Hosts = append(port.Hosts, newHost(domain, owner, withoutRanks(ranked)))
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

// listDomains gives every hostname that makes a difference on a port. Of those that cover a host, each but the most
// specific one covers the more specific ones too; so it is enough that a proxy looks at the most specific.
func listDomains(listeners map[string]*listener) []string {
	found := map[string]bool{}
	for hostname, l := range listeners {
		found[hostname] = true
		for h := range l.attached {
			found[h] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), bySpecificity)
}

// matchesFor gives the matches for requests to a domain, and their listener. They belong to the most specific listener that covers
// it, and to no other listener of the port (Gateway API's listener isolation); so a listener without routes
// has a host without matches, which answers 404.
func (b *builder) matchesFor(listeners map[string]*listener, domain string) (*Listener, []rankedMatch) {
	covering := coverings(domain)
	owner := slices.IndexFunc(covering, func(h string) bool { return listeners[h] != nil })
	if owner < 0 {
		return nil, nil
	}
	var ranked []rankedMatch
	seen := map[*Route]bool{}
	for _, hostname := range covering {
		for _, route := range listeners[covering[owner]].attached[hostname] {
			if seen[route] {
				continue
			}
			seen[route] = true
			wildness := slices.IndexFunc(covering, func(h string) bool { return hasHostname(route, h) })
			for _, m := range matchesOf(route) {
				ranked = append(ranked, rankedMatch{m, wildness})
			}
		}
	}
	slices.SortFunc(ranked, func(x, y rankedMatch) int { return compareMatches(x, y, b.order) })
	return listeners[covering[owner]], ranked
}

// hasHostname reports whether a hostname is one that a route gives; without any it gives all.
func hasHostname(route *Route, hostname string) bool {
	return slices.Contains(route.Value.Spec.Hostnames, gatewayv1.Hostname(hostname)) ||
		len(route.Value.Spec.Hostnames) == 0 && hostname == anyHost
}
