// Package ir is the compiler's neutral middle, from which all targets are written: what a proxy shall do, in no proxy's
// terms (Plan.Proxy), or, for a control plane that makes proxies' configuration itself, which sessions its rules have
// (the rest of Plan). Everything in it is in its final order, so that emitters write it down as it stands.
package ir

import (
	"net/netip"
	"slices"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Config is one proxy's whole configuration.
type Config struct {
	Listeners []Listener
	// Clusters are the groups of hosts that routes lead to, each once, by name.
	Clusters []Cluster
	// Policies are those of all routes, each once, by name, for targets where they don't travel with their routes.
	Policies []policyconfig.Policy
	// Draining are the hosts that terminate and still serve, whether they are in a cluster or have drained for long
	// enough. Until is when the same input will give another configuration, for the next of them will have; zero is never.
	Draining []HostKey
	// Pods are those that are known by their uids, in order, and Unsettled says that some of them are no endpoints yet.
	Pods      []PodAt
	Unsettled bool
	Until     time.Time
}

// HasPrivateKeys reports whether there are private keys of certificates in it.
func (c *Config) HasPrivateKeys() bool {
	return slices.ContainsFunc(c.Listeners, Listener.HasPrivateKeys) || slices.ContainsFunc(c.Clusters, Cluster.ShowsClient)
}

// ShowsClient reports whether hosts are shown a certificate.
func (c Cluster) ShowsClient() bool {
	return slices.ContainsFunc(c.Localities, func(l Locality) bool { return l.TLS != nil && l.TLS.Client != nil })
}

// HasPrivateKeys reports whether there are private keys of certificates in it: TLS that passes through has none, nor has a listener whose
// Secrets are missing.
func (l Listener) HasPrivateKeys() bool {
	return slices.ContainsFunc(l.TLSHosts, func(h TLSHost) bool { return len(h.Certificates) > 0 })
}

// Listener is an address to bind.
type Listener struct {
	// Gateway is the key of the one that it belongs to, where Gateways share no proxy.
	Gateway string
	Address netip.Addr
	Port    uint16
	// Hosts are what plain HTTP leads to, by hostname; a request goes to the one with the most specific match, and to
	// none of the others.
	Hosts []Host
	// TLSHosts are what TLS leads to, in place of Hosts; a connection belongs to the one with the most specific match of
	// its server name, and to none of the others.
	TLSHosts []TLSHost
	// Stream is where connections go as they come, in place of Hosts; with UDP datagrams.
	Stream *Stream
	UDP    bool
	// TrustedProxies are the addresses of those before it whose word on the client's address and protocol is believed. They
	// matter without TLS only.
	TrustedProxies []netip.Prefix
	// ProxyTLSPorts, if there are any, say that connections come from those proxies alone and begin with the PROXY protocol, and
	// at which of the ports that it names TLS ends.
	ProxyTLSPorts []uint32
	// ClientCertificates are what backends are shown that requests go to over TLS: one for each of its Gateways that has some.
	ClientCertificates []Certificate
}

// TLSHost is what connections for a server name get.
type TLSHost struct {
	// Domain is as in Host; "*" takes connections without a server name too.
	Domain string
	// Certificates are what the proxy shows clients. It takes the first that suits the client. Without any, TLS ends at the
	// backends of Stream.
	Certificates []Certificate
	// Clients is how their certificates are verified; nil for not at all.
	Clients *ClientValidation
	// Options are what TLS is restricted to.
	Options TLSOptions
	// Hosts are as in Listener.
	Hosts []Host
	// Stream is where connections go, in place of Hosts.
	Stream *Stream
}

// Stream is where connections or datagrams go: to a cluster, or shared out among several. A cluster without hosts ends them.
type Stream struct {
	Cluster string
	Split   []Share
}

// Clusters are those that it leads to.
func (s *Stream) Clusters() (all []string) {
	if s.Cluster != "" {
		all = append(all, s.Cluster)
	}
	for _, share := range s.Split {
		all = append(all, share.Cluster)
	}
	return all
}

// Certificate is a certificate with its chain, and its private key, both in PEM.
type Certificate struct {
	// Secret is the one that it is from, as NAMESPACE/NAME.
	Secret string
	Chain  string
	Key    policyconfig.Secret
}

// ClientValidation is how clients' certificates are verified.
type ClientValidation struct {
	// Authorities are the certificates of those who may vouch, in PEM.
	Authorities string
	// AllowInvalid lets clients in whatever comes of it, and those without a certificate.
	AllowInvalid bool
}

// TLSOptions are what a listener's owner restricts TLS to. What is zero is left to the proxy.
type TLSOptions struct {
	// MinVersion and MaxVersion are 1.2 or 1.3.
	MinVersion, MaxVersion string
	// CipherSuites are for TLS 1.2, by the names that OpenSSL has for them, and Protocols what clients may choose from (ALPN).
	CipherSuites, Protocols []string
}

// Host is a set of routes for a hostname, or several.
type Host struct {
	// Domain is a hostname, one with a first label "*" that stands for one or more labels, or "*" for all. It names the host.
	Domain string
	// Others are further such hostnames that have the routes.
	Others []string
	// Routes are in order of precedence: the first that matches is taken. With none, requests get 404.
	Routes []Route
}

// Route says what becomes of the requests that match. Exactly one of Status, Redirect, Cluster and Split is set.
type Route struct {
	// Name identifies the route to session policies; the routes of one rule share it.
	Name  string
	Match Match
	// Sticky says that session policies hold here, by the route's name and, in a split, the cluster.
	Sticky bool
	// Within says that its cluster is one that is Within.
	Within bool
	// Policies are the session policies of the route's rule. Those of a backend without a share are among them: moving
	// weights then changes routes alone, and no request meets the policies of before with the weights of after.
	Policies []policyconfig.Policy
	// FailStatus answers requests of sessions whose host can't serve; 0 sends them to another host. In a split the
	// shares have it instead.
	FailStatus int
	// Status answers at once.
	Status int
	// Cluster takes every request.
	Cluster string
	// Split shares the requests out.
	Split []Share
	// Hashes are what is hashed of a request, in order, for clusters that balance by hash.
	Hashes []Hash
	// Timeout is how long a request may take in all, and PerTryTimeout how long each try of it; 0 sets no limit.
	Timeout, PerTryTimeout time.Duration
	// Retry is what the rule's owner asks for; nil for nothing. Sessions that may move leave hosts that can't have got the
	// request either way, and those with a FailStatus are not tried elsewhere, whatever it says.
	Retry *Retry
	Filters
}

// Retriable reports whether requests may be tried on another host than their session's: all of them, or in a split
// those of some share.
func (r *Route) Retriable() bool {
	if len(r.Split) > 0 {
		return slices.ContainsFunc(r.Split, func(s Share) bool { return s.FailStatus == 0 })
	}
	return r.FailStatus == 0
}

// Share is a cluster's part of a split.
type Share struct {
	Cluster string
	Weight  uint32 // above 0
	// FailStatus is as in Route.
	FailStatus int
	// RequestHeaders and ResponseHeaders are changes that this share alone makes, before those of the route.
	RequestHeaders, ResponseHeaders HeaderEdits
	// RewriteHost is the host that this share's requests get; empty for no other.
	RewriteHost string
}

// Match is what a request must have, all of it.
type Match struct {
	// Path begins with "/". With Exact it is the whole path, else one or more leading elements of it, and then
	// it has no "/" at the end unless that is all of it.
	Path  string
	Exact bool
	// Regex is an RE2 expression for the whole path, without its query, in place of Path; empty for none.
	Regex string
	// GRPC lets gRPC requests pass only.
	GRPC bool
	// Method is empty for any.
	Method string
	// Headers and Query are compared as a whole; header names are in lower case.
	Headers, Query []ValueMatch
}

// ValueMatch is a name and the value that it must have: exactly, or as an RE2 expression for all of it.
type ValueMatch struct {
	Name, Value string
	Regex       bool
}

// Pair is a name and a value.
type Pair struct{ Name, Value string }

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
	// Localities has one entry for a single backend. With several, each pool gets its weight's share of the requests
	// that belong to no session, whatever the health of its hosts.
	Localities []Locality
	// Within says that a session whose host is lost stays in its locality, while that takes sessions.
	Within bool
}

// Settled is the cluster without the endpoints that are not settled; itself where there are none.
func (c *Cluster) Settled() *Cluster {
	isUnsettled := func(e Endpoint) bool { return e.Unsettled != "" }
	if !slices.ContainsFunc(c.Localities, func(l Locality) bool { return slices.ContainsFunc(l.Endpoints, isUnsettled) }) {
		return c
	}
	settled := *c
	settled.Localities = slices.Clone(c.Localities)
	for i := range settled.Localities {
		l := &settled.Localities[i]
		l.Endpoints = slices.DeleteFunc(slices.Clone(l.Endpoints), isUnsettled)
	}
	return &settled
}

// IsNamed reports whether some of its hosts are behind names.
func (c *Cluster) IsNamed() bool {
	return slices.ContainsFunc(c.Localities, func(l Locality) bool {
		return slices.ContainsFunc(l.Endpoints, func(e Endpoint) bool { return e.Host != "" })
	})
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
	// DirectStatus is a status that the proxy itself answers in the pool's stead, 500 or 503; 0 for none. Endpoints
	// with it serve the sessions that they have.
	DirectStatus int
}

// UpstreamTLS is TLS to hosts, and whom they must be.
type UpstreamTLS struct {
	// ServerName is what the proxy asks for (SNI).
	ServerName string
	// Authorities are the certificates of those who may vouch, in PEM; empty for the system's.
	Authorities string
	// Names are those of which the host's certificate must have one.
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
	// Host is a DNS name that the proxy itself resolves; empty for a host whose Address is known. With it Address has a port alone.
	Host    string
	Address netip.AddrPort
	// Draining hosts serve the sessions that they have and get no new ones.
	Draining bool
	// Far hosts get requests without a session only while none of the others serves, in a cluster of one backend.
	Far bool
	// Unselected is since when the host is no endpoint any more, in nanoseconds since 1970; 0 for one that is. Such a host drains.
	Unselected int64
	// Unsettled hosts have an address that was another pod's: they are none for proxies that may not know that. It is the uid of the pod that
	// has it now; empty for others.
	Unsettled string
	// Pod is what has the address, as far as the input says. Proxies are told the object's name, where access logs are to have it, and
	// no more.
	Pod Pod
}

// Key names the endpoint for what is remembered of it.
func (e *Endpoint) Key() HostKey { return HostKey{e.Pod.Namespace, e.Address} }
