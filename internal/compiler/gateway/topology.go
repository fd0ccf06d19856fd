// Package gateway works out which requests reach which rule: it merges Gateways' listeners by address and port,
// attaches routes to listeners, and orders the matches of all of them by Gateway API's precedence.
package gateway

import (
	"cmp"
	"net/netip"

	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Route is an admitted HTTPRoute, or GRPCRoute in the shape of one.
type Route = resource.Object[gatewayv1.HTTPRoute]

// UnresolvedStatusCode is the status for requests that a rule can't serve as it is written (rules.backendRefs): 500,
// and for a GRPCRoute 503, which Envoy makes the status UNAVAILABLE of a gRPC client.
func UnresolvedStatusCode(route *Route) int {
	if route.Kind == object.KindGRPCRoute {
		return 503
	}
	return 500
}

// Port is an address to listen on.
type Port struct {
	// Gateway is the key of the one that it belongs to, where Gateways share no port.
	Gateway string
	Address netip.Addr
	Number  uint16
	// TLS says that all of its listeners speak TLS; else none does. UDP says that it takes datagrams.
	TLS, UDP bool
	Hosts    []Host
	// Sharded are the server names whose sites have shards; "*" for that of a port without TLS.
	Sharded []string
	// Trusted are the proxies before it that are believed.
	Trusted []netip.Prefix
	// ProxyTLSPorts are their ports at which TLS ends, where they speak the PROXY protocol; none if they do not.
	ProxyTLSPorts []uint32
}

// Host is a hostname, with every match that a request to it may meet, strongest first. A request belongs to the
// most specific host of its port and to no other.
type Host struct {
	Domain string
	// Others are further hostnames of the listener, with equal matches.
	Others []string
	// Listener is the one that requests to the host belong to.
	Listener *Listener
	Matches  []Match
	// Streams are the rules for connections, or datagrams, where the listener takes no HTTP. All belong to the first.
	Streams []Match
}

// Match is one match of a rule of a route.
type Match struct {
	Route       *Route
	Rule, Match int
	// Spec has the defaults filled in.
	Spec gatewayv1.HTTPRouteMatch
}

// Topology is which requests reach which rule.
type Topology struct {
	// Ports are in order.
	Ports []Port
	// Attachments is what became of each Gateway and parentRef.
	Attachments *AttachmentStatus
	// OfGateways is what there was to say of Gateways and their classes, and OfRoutes of routes.
	OfGateways, OfRoutes report.Report

	// Usage is how much is laid out; of a part it is not known.
	Usage Usage

	claims    Claims
	soleHosts SoleHosts
}

// Silent reports whether there was nothing to say.
func (t *Topology) Silent() bool { return t.OfGateways.Silent() && t.OfRoutes.Silent() }

// Build works out which requests reach which rule.
func Build(in Input) *Topology {
	t := &Topology{soleHosts: SoleHosts{}}
	b := newBuilder(in, &t.OfGateways)
	b.addGateways(in.objects)
	b.checkStraySets()
	b.rep = &t.OfRoutes
	if b.layout == nil {
		t.Usage, b.layout = b.tally().layOutAll(in.order)
	}
	b.attachRoutes()
	b.withhold()
	t.Ports, t.Attachments, t.claims = b.layOutPorts(), b.status, b.claims
	for host, route := range b.soleHosts {
		t.soleHosts[host] = route.Ref()
	}
	return t
}

func newBuilder(in Input, rep *report.Report) *builder {
	b := &builder{
		Input:      in,
		listeners:  map[string][]*listener{},
		ports:      map[portKey]map[string]*listener{},
		claims:     Claims{},
		soleHosts:  map[SoleHost]*Route{},
		secrets:    map[string]*resource.Object[resource.Secret]{},
		configMaps: map[string]*resource.Object[resource.ConfigMap]{},
		namespaces: map[string]labels.Set{},
		grants:     grant.New(in.objects),
		rep:        rep,
		status:     &AttachmentStatus{Parents: map[object.Ref][]ParentStatus{}},

		sets: in.objects.SetsByGateway(), waiting: waitingSets{order: in.order}, foreignSets: map[string]bool{},
		equal: map[equalMatch]bool{}, keys: map[equalMatch]string{},
	}
	for _, s := range in.objects.Secrets {
		b.secrets[s.Key()] = s
	}
	for _, c := range in.objects.ConfigMaps {
		b.configMaps[c.Key()] = c
	}
	for _, n := range in.objects.Namespaces {
		b.namespaces[n.Name] = n.Labels
	}
	return b
}

// portKey tells ports apart.
type portKey struct {
	at      netip.AddrPort
	gateway string // its key, where Gateways share no port
	udp     bool
}

func comparePorts(a, b portKey) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.gateway, b.gateway), cmp.Compare(rankIf(a.udp), rankIf(b.udp)))
}

type builder struct {
	Input
	// by their Gateway's key; a Gateway that is left out has an entry without any
	listeners map[string][]*listener
	ports     map[portKey]map[string]*listener // by their hostname
	claims    Claims                           // that hold
	soleHosts map[SoleHost]*Route              // routes that have a host for themselves
	secrets   map[string]*resource.Object[resource.Secret]
	// configMaps have certificates of authorities.
	configMaps map[string]*resource.Object[resource.ConfigMap]
	// sets are the ListenerSets by their Gateway's key, and waiting those whose Gateway is there and that others may go
	// before.
	sets    map[string][]*resource.ListenerSet
	waiting waitingSets
	// foreignSets are the ListenerSets of Gateways that another controller serves.
	foreignSets map[string]bool
	// namespaces are the labels of those that are in the input.
	namespaces map[string]labels.Set
	// equal are the matches for which it was reported that others are equal to them.
	equal  map[equalMatch]bool
	keys   map[equalMatch]string
	grants grant.Grants
	rep    *report.Report
	status *AttachmentStatus
}
