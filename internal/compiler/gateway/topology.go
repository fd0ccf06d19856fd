// Package gateway works out which requests reach which rule: it merges Gateways' listeners by address and port,
// attaches routes to listeners, and orders the matches of all of them by Gateway API's precedence.
package gateway

import (
	"net/netip"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Route is an admitted HTTPRoute, or GRPCRoute in the shape of one.
type Route = resource.Object[gatewayv1.HTTPRoute]

// UnresolvedStatusCode is the status for requests that a rule can't serve as it is written (rules.backendRefs): 500, and for a
// GRPCRoute 503, which Envoy makes the status UNAVAILABLE of a gRPC client.
func UnresolvedStatusCode(route *Route) int {
	if route.Kind == object.KindGRPCRoute {
		return 503
	}
	return 500
}

// Port is an address to listen on.
type Port struct {
	Address netip.Addr
	Number  uint16
	// TLS says that all of its listeners speak TLS; else none does.
	TLS   bool
	Hosts []Host
}

// Host is a hostname, with every match that a request to it may meet, strongest first. A request belongs to the
// most specific host of its port and to no other.
type Host struct {
	Domain string
	// Listener is the one that requests to the host belong to.
	Listener *Listener
	Matches  []Match
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
	// Report is what there was to say.
	Report report.Report

	claims     Claims
	proxyHosts ProxyHosts
}

// Silent reports whether there was nothing to say.
func (t *Topology) Silent() bool { return t.Report.Silent() }

// Build works out which requests reach which rule.
func Build(in Input) *Topology {
	t := &Topology{claims: Claims{}, proxyHosts: ProxyHosts{}}
	if in.controller == "" {
		t.Ports, t.Attachments = buildShared(in, t)
	} else {
		t.Ports, t.Attachments = buildPerGateway(in.objects, in.controller, &t.Report)
	}
	return t
}

func buildShared(in Input, t *Topology) ([]Port, *AttachmentStatus) {
	objects := in.objects
	b := &builder{
		listeners: map[string][]*listener{},
		ports:     map[netip.AddrPort]map[string]*listener{},
		bind:      in.bind,
		refused:   in.refused,
		claims:    t.claims,
		proxies:   map[string]*Route{},
		secrets:   map[string]*resource.Object[resource.Secret]{},
		grants:    grant.New(objects),
		rep:       &t.Report,
		status:    &AttachmentStatus{Parents: map[string][]ParentStatus{}},
	}
	for _, s := range objects.Secrets {
		b.secrets[s.Key()] = s
	}
	b.addGateways(objects)
	for _, route := range objects.Routes {
		b.attachRoute(route)
	}
	for _, proxy := range objects.Proxies {
		b.attachProxy(proxy)
	}
	for fqdn := range b.proxies {
		t.proxyHosts[fqdn] = b.proxies[fqdn].Origin().Ref
	}
	return b.layOutPorts(), b.status
}

func buildPerGateway(objects *resource.Objects, controller gatewayv1.GatewayController, rep *report.Report) ([]Port, *AttachmentStatus) {
	b := &builder{
		listeners:  map[string][]*listener{},
		ports:      map[netip.AddrPort]map[string]*listener{},
		proxies:    map[string]*Route{},
		rep:        rep,
		status:     &AttachmentStatus{Parents: map[string][]ParentStatus{}},
		controller: controller,
		claims:     Claims{},
	}
	b.addGateways(objects)
	for _, route := range objects.Routes {
		b.attachRoute(route)
	}
	b.attachIstio(objects)
	return b.layOutPorts(), b.status
}

type builder struct {
	listeners map[string][]*listener                  // by their Gateway's key; a Gateway that is left out has an entry without any
	ports     map[netip.AddrPort]map[string]*listener // by their hostname
	bind      netip.Addr
	refused   map[Claim]string // why a Gateway does not listen somewhere
	claims    Claims           // that hold
	proxies   map[string]*Route // HTTPProxies by their host
	secrets   map[string]*resource.Object[resource.Secret]
	grants    grant.Grants
	rep       *report.Report
	status    *AttachmentStatus
	// controller is the control plane's name, empty where limpet itself is it.
	controller gatewayv1.GatewayController
}
