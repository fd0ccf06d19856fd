package ir

import (
	"net/netip"
	"reflect"
	"slices"
)

// ShowsClient reports whether hosts are shown a certificate.
func (c Cluster) ShowsClient() bool {
	return slices.ContainsFunc(c.Localities, func(l Locality) bool { return l.TLS != nil && l.TLS.Client != nil })
}

// Cluster is a group of hosts among which requests are balanced.
type Cluster struct {
	Name string
	// HTTP2 says that its hosts speak HTTP/2 without TLS, with prior knowledge; else it is HTTP/1.1.
	HTTP2 bool
	// Balancing is how requests that no session pins are spread.
	Balancing Balancing
	// RetryBudget caps retries; nil for none.
	RetryBudget *RetryBudget
	// Hosts is what is expected of its hosts.
	Hosts HostPolicy
	// Localities has one entry for a single backend. With several, each gets its weight's share of the requests
	// that belong to no session, whatever the health of its hosts.
	Localities []Locality
	// Within says that a session whose host is lost stays in its locality, while that takes sessions.
	Within bool
}

// Acknowledged is the cluster without the endpoints whose address proxies may still take for another pod's; itself
// where there are none.
func (c *Cluster) Acknowledged() *Cluster {
	isUnacknowledged := func(e Endpoint) bool { return e.Unacknowledged != "" }
	if !slices.ContainsFunc(
		c.Localities,
		func(l Locality) bool { return slices.ContainsFunc(l.Endpoints, isUnacknowledged) },
	) {
		return c
	}
	acknowledged := *c
	acknowledged.Localities = slices.Clone(c.Localities)
	for i := range acknowledged.Localities {
		l := &acknowledged.Localities[i]
		l.Endpoints = slices.DeleteFunc(slices.Clone(l.Endpoints), isUnacknowledged)
	}
	return &acknowledged
}

// IsNamed reports whether some of its hosts are behind names.
func (c *Cluster) IsNamed() bool {
	return slices.ContainsFunc(c.Localities, func(l Locality) bool {
		return slices.ContainsFunc(l.Endpoints, func(e Endpoint) bool { return e.Host != "" })
	})
}

// HasOtherHosts reports whether another cluster is the same but for its hosts, if for anything. That includes that none
// of them is behind a name.
func (c *Cluster) HasOtherHosts(other *Cluster) bool {
	return !c.IsNamed() && !other.IsNamed() && reflect.DeepEqual(c.withoutHosts(), other.withoutHosts())
}

func (c *Cluster) withoutHosts() Cluster {
	without := *c
	without.Localities = slices.Clone(c.Localities)
	for i := range without.Localities {
		without.Localities[i].Endpoints = nil
	}
	return without
}

// Locality is the hosts of one backend.
type Locality struct {
	// Name tells the pools of a cluster apart, and Tag is what tokens call it.
	Name string
	Tag  uint32
	// TLS is how its hosts are spoken to; nil for clear text.
	TLS *UpstreamTLS
	// Weight 0 takes only requests of sessions that are there already.
	Weight    uint32
	Endpoints []Endpoint
	// DirectStatus is a status that the proxy itself answers in the locality's stead, 500 or 503; 0 for none. Endpoints
	// with it serve the sessions that they have.
	DirectStatus int
}

// UpstreamTLS is TLS to hosts, and whom they must be.
type UpstreamTLS struct {
	// ServerName is what the proxy asks for (SNI).
	ServerName string
	// Authorities are the certificates of those who may vouch, in PEM; empty for the system's.
	Authorities string
	// Names are those the host's certificate must have one of.
	Names []SubjectName
	// Client is what the proxy shows hosts that ask for a certificate; nil for nothing.
	Client *Certificate
}

// SubjectName is a name in a certificate: of a host, whose first label may be "*", or a URI.
type SubjectName struct {
	Value string
	URI   bool
}

// Endpoint is one host, or all those whose addresses a name has.
type Endpoint struct {
	// Host is a DNS name that the proxy itself resolves; empty for a host whose Address is known. With it Address has a
	// port alone.
	Host    string
	Address netip.AddrPort
	// Draining hosts serve the sessions that they have and get no new ones.
	Draining bool
	// Far hosts get requests without a session only while none of the others serves, in a cluster of one backend.
	Far bool
	// Unselected is since when the host is no endpoint any more, in nanoseconds since 1970; 0 for one that is. Such a host
	// drains.
	Unselected int64
	// Unacknowledged hosts have an address that was another pod's: they are none for proxies that may not know that. It is
	// the uid of the pod that has it now; empty for others.
	Unacknowledged string
	// Pod is what has the address, as far as the input says. Proxies get the object's name where access logs are to
	// have it, and no more.
	Pod Pod
}

// Key names the endpoint for what is remembered of it.
func (e *Endpoint) Key() HostKey { return HostKey{e.Pod.Namespace, e.Address} }
