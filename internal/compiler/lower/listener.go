package lower

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// statusMisdirected is the status for a request on a connection that was made for another site (RFC 9110, section
// 15.5.20).
const statusMisdirected = 421

func (l *lowerer) lowerListener(p gateway.Port) ir.Listener {
	listener := ir.Listener{Gateway: p.Gateway, Address: p.Address, Port: p.Number, UDP: p.UDP, Sharded: p.Sharded}
	for _, c := range listClients([]gateway.Port{p}) {
		if c != nil {
			listener.ClientCertificates = append(listener.ClientCertificates, *c)
		}
	}
	if !p.TLS && len(p.Hosts) > 0 && p.Hosts[0].Listener.StreamsOnly() {
		if !l.WithoutStreams {
			listener.Stream = l.lowerStream(p.Hosts[0], p.UDP)
		}
		return listener
	}
	if p.TLS {
		listener.TLSHosts = l.lowerTLSHosts(p)
		return listener
	}
	listener.TrustedProxies, listener.ProxyTLSPorts = p.Trusted, p.ProxyTLSPorts
	for _, h := range p.Hosts {
		listener.Hosts = append(listener.Hosts, l.lowerHost(p, h))
	}
	return listener
}

// lowerTLSHosts gives each listener of a port a site of its own, the most specific one first. A listener without a
// certificate gets no site, and yet its hosts go to no other.
func (l *lowerer) lowerTLSHosts(p gateway.Port) []ir.TLSHost {
	var owners []*gateway.Listener
	hosts := map[*gateway.Listener][]ir.Host{}
	var streams []ir.TLSHost
	for _, h := range p.Hosts {
		if h.Listener.StreamsOnly() {
			streams = append(streams, l.lowerTLSStream(h, len(p.Hosts) == 1)...)
			continue
		}
		if hosts[h.Listener] == nil {
			owners = append(owners, h.Listener)
		}
		hosts[h.Listener] = append(hosts[h.Listener], l.lowerHost(p, h))
	}
	others := slices.SortedFunc(slices.Values(owners), func(a, b *gateway.Listener) int {
		return gateway.BySpecificity(a.Hostname(), b.Hostname()) // whichever hosts their routes have
	})
	tlsHosts := streams
	for _, owner := range owners {
		if len(owner.Certificates()) == 0 {
			if len(streams) > 0 {
				tlsHosts = append(tlsHosts, l.closeTLSHost(owner.Hostname()))
			}
			continue
		}
		tlsHost := ir.TLSHost{
			Domain: owner.Hostname(), Certificates: owner.Certificates(), Hosts: hosts[owner],
			Clients: owner.ClientValidation(), Options: owner.TLSOptions(),
		}
		for _, other := range others {
			if other != owner {
				tlsHost.Hosts = append(tlsHost.Hosts, newMisdirectedHost(other.Hostname()))
			}
		}
		tlsHosts = append(tlsHosts, tlsHost)
	}
	slices.SortStableFunc(tlsHosts, func(a, b ir.TLSHost) int { return gateway.BySpecificity(a.Domain, b.Domain) })
	return tlsHosts
}

func (l *lowerer) lowerHost(p gateway.Port, h gateway.Host) ir.Host {
	return ir.Host{Domain: h.Domain, Others: h.Others, Routes: l.lowerRoutes(p, h)}
}

// newMisdirectedHost answers requests for a host of another site, so that the client makes a new connection. Browsers
// use one connection for all hosts of its certificate (Gateway, spec.listeners).
func newMisdirectedHost(domain string) ir.Host {
	route := ir.Route{Name: "misdirected", Match: ir.Match{Path: "/"}, Status: statusMisdirected}
	return ir.Host{Domain: domain, Routes: []ir.Route{route}}
}
