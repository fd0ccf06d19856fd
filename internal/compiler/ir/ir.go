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
	Remembered
}

// Remembered is what there is to remember of hosts for the next configuration.
type Remembered struct {
	// Draining are the hosts that terminate and still serve, whether they are in a cluster or have drained for long
	// enough. Until is when the same input will give another configuration, for the next of them will have; zero is never.
	Draining []HostKey
	// Pods are those that are known by their uids, in order, and Unacknowledged says that some of them are no endpoints
	// yet.
	Pods           []PodAt
	Unacknowledged bool
	Until          time.Time
}

// Add adds what there is to remember of other hosts.
func (r *Remembered) Add(more *Remembered) {
	r.Draining, r.Pods = append(r.Draining, more.Draining...), append(r.Pods, more.Pods...)
	r.Unacknowledged = r.Unacknowledged || more.Unacknowledged
	if r.Until.IsZero() || !more.Until.IsZero() && more.Until.Before(r.Until) {
		r.Until = more.Until
	}
}

// Sort puts it in order, each host once.
func (r *Remembered) Sort() {
	slices.SortFunc(r.Draining, HostKey.Compare)
	slices.SortFunc(r.Pods, PodAt.Compare)
	r.Draining, r.Pods = slices.Compact(r.Draining), slices.Compact(r.Pods)
}

// IsTemporary tells whether the same input comes to something else with time, or once proxies have taken it over.
func (r *Remembered) IsTemporary() bool {
	return len(r.Draining) > 0 || !r.Until.IsZero() || r.Unacknowledged
}

// HasPrivateKeys reports whether there are private keys of certificates in it.
func (c *Config) HasPrivateKeys() bool {
	return slices.ContainsFunc(c.Listeners, Listener.HasPrivateKeys) ||
		slices.ContainsFunc(c.Clusters, Cluster.ShowsClient)
}

// HasPrivateKeys reports whether there are private keys of certificates in it: TLS that passes through has none, nor
// has a listener whose Secrets are missing.
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
	// Sharded are the domains of TLSHosts that have a table for each shard of their hosts; "*" for that of Hosts.
	Sharded []string
	// TrustedProxies are the addresses of those before it whose word on the client's address and protocol is believed.
	// They matter without TLS only.
	TrustedProxies []netip.Prefix
	// ProxyTLSPorts, if there are any, say that connections come from those proxies alone and begin with the PROXY
	// protocol, and at which of the ports that it names TLS ends.
	ProxyTLSPorts []uint32
	// ClientCertificates are what backends are shown that requests go to over TLS: one for each of its Gateways that has
	// some.
	ClientCertificates []Certificate
}

// TLSHost is what connections for a server name get.
type TLSHost struct {
	// Domain is as in Host; "*" takes connections without a server name too.
	Domain string
	// Certificates are what the proxy shows clients. It takes the first that suits the client. Without any, TLS ends at
	// the backends of Stream.
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

// Stream is where connections or datagrams go: to a cluster, or shared out among several. A cluster without hosts ends
// them.
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
	// CipherSuites are for TLS 1.2, by the names that OpenSSL has for them, and Protocols what clients may choose from
	// (ALPN).
	CipherSuites, Protocols []string
}

// Host is a set of routes for a hostname, or several.
type Host struct {
	// Domain is a hostname, one with a first label "*" that stands for one or more labels, or "*" for all. It names the
	// host.
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
