// Package backend finds what a backendRef leads to: a port of a Service and the endpoints behind it.
package backend

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Backend is a port of a Service, or an XBackend, with its endpoints.
type Backend struct {
	Identity
	// Endpoints are sorted; empty or all draining, new requests get 503.
	Endpoints []ir.Endpoint
}

// Identity is what a backend is, whatever endpoints it has. It is comparable.
type Identity struct {
	// Name identifies it: namespace/name:port, with xbackend/ in front of an XBackend's.
	Name string
	// Service is the Service's namespace/name.
	Service string
	// Object is the Service or XBackend, and Port the port of it.
	Object object.Ref
	Port   int32
	// Subset is Istio's name for a part of the hosts, empty for all.
	Subset string
	// ClientIP says that the Service wants sessionAffinity of its own.
	ClientIP bool
	// Cluster is the name of the cluster that all rules share for it.
	Cluster string
	// Protocol is what the Service's port says of it.
	Protocol Protocol
	// TrafficDistribution is the Service's trafficDistribution, a wish that is not carried; empty for none.
	TrafficDistribution string
}

// Protocol is how hosts of a port are spoken to. All are in the clear.
type Protocol string

// The protocols: Unsaid is HTTP/1.1 for an HTTPRoute and HTTP/2 for a GRPCRoute.
const (
	ProtocolUnset Protocol = ""
	HTTP1         Protocol = "HTTP/1.1"
	HTTP2         Protocol = "HTTP/2"
)

// appProtocols are the values of appProtocol that are read (KEP-3726, and IANA's http). A websocket begins as HTTP/1.1.
var appProtocols = map[string]Protocol{"http": HTTP1, "kubernetes.io/ws": HTTP1, "kubernetes.io/h2c": HTTP2}

// Ready reports whether the backend takes new requests.
func (b *Backend) Ready() bool {
	return slices.ContainsFunc(b.Endpoints, func(e ir.Endpoint) bool { return !e.Draining })
}

type endpointSlice = resource.Object[discoveryv1.EndpointSlice]

// Index holds the Services and EndpointSlices of the input.
type Index struct {
	services       map[string]*resource.Object[corev1.Service]
	slices         map[string][]*endpointSlice // by their Service's key
	selected       map[string][]*endpointSlice // by what XBackends select
	backends       map[string]*resource.Object[resource.XBackend]
	resolved       map[string]*Backend
	ports          map[portKey]*Backend
	cache          *Cache
	grants         grant.Grants
	rep            *report.Report
	serviceEntries []*resource.Object[resource.ServiceEntry]
	// unverified says that a control plane looks after Services and endpoints.
	unverified bool
	// platformKinds are its own kinds of backends.
	platformKinds []runtimeschema.GroupKind
}

// NewIndex makes an index, with the backends that are kept. What is wrong with a Service that a route uses goes to the
// report, once.
func NewIndex(objects *resource.Objects, cache *Cache, rep *report.Report) *Index {
	x := &Index{
		services: make(map[string]*resource.Object[corev1.Service], len(objects.Services)),
		slices:   make(map[string][]*endpointSlice, len(objects.Slices)),
		selected: map[string][]*endpointSlice{},
		backends: map[string]*resource.Object[resource.XBackend]{},
		resolved: map[string]*Backend{},
		ports:    make(map[portKey]*Backend, len(objects.Services)),
		cache:    cache,
		grants:   grant.New(objects),
		rep:      rep,
	}
	x.serviceEntries = objects.ServiceEntries
	for _, s := range objects.Services {
		x.services[s.Key()] = s
	}
	for _, s := range objects.Slices {
		owner := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		x.slices[owner] = append(x.slices[owner], s)
	}
	x.addXBackends(objects)
	return x
}

// Resolve follows a reference of a route. Nil means that it is invalid, and the field error says why: the requests
// that were meant for it get 500.
func (x *Index) Resolve(route *resource.Object[gatewayv1.HTTPRoute], path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	namespace := route.Namespace
	if isXBackend(ref) {
		return x.resolveXBackend(namespace, path, ref)
	}
	if x.isPlatformKind(ref) {
		return x.resolvePlatformKind(namespace, ref), nil
	}
	if x.unverified && ref.Group != nil && *ref.Group == resource.IstioGroup && ref.Kind != nil {
		return x.resolveHost(namespace, ref), nil
	}
	if ref.Group != nil && *ref.Group != "" {
		return nil, field.NotSupported(path.Child("group"), *ref.Group, []gatewayv1.Group{""})
	}
	if ref.Kind != nil && *ref.Kind != "Service" {
		return nil, field.NotSupported(path.Child("kind"), *ref.Kind, []gatewayv1.Kind{"Service"})
	}
	if ref.Namespace != nil {
		namespace = string(*ref.Namespace)
	}
	if x.unverified {
		return x.resolveUnverified(namespace, path, ref)
	}
	if !x.grants.Allow(grant.From{Kind: route.Kind, Namespace: route.Namespace}, grant.To{Kind: "Service", Namespace: namespace, Name: string(ref.Name)}) {
		return nil, field.Forbidden(path.Child("namespace"), fmt.Sprintf("no ReferenceGrant in namespace %s allows it", namespace))
	}
	return x.resolveService(namespace+"/"+string(ref.Name), path, ref)
}

func isXBackend(ref gatewayv1.BackendRef) bool {
	return ref.Group != nil && *ref.Group == gatewayxv1alpha1.GroupName && ref.Kind != nil && *ref.Kind == object.KindXBackend
}

// resolveService finds the port of a Service that a reference means.
func (x *Index) resolveService(key string, path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	service := x.services[key]
	if service == nil {
		return nil, newNotFound(path.Child("name"), ref.Name, "there is no Service "+key+" in the input")
	}
	number := int32(0)
	if ref.Port != nil { // the schema requires it for a Service
		number = *ref.Port
	}
	at := slices.IndexFunc(service.Value.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == number && p.Protocol == corev1.ProtocolTCP
	})
	if at < 0 {
		return nil, newNotFound(path.Child("port"), number, "Service "+key+" has no TCP port of this number")
	}
	return x.getServicePort(portKey{service, at}), nil
}

// ReasonFor is the reason of a route's ResolvedRefs condition for an error of Resolve, or for one
// of type Invalid about the Backend that it gave: its protocol does not suit the route.
func ReasonFor(invalid *field.Error) gatewayv1.RouteConditionReason {
	switch invalid.Type {
	case field.ErrorTypeNotSupported:
		return gatewayv1.RouteReasonInvalidKind
	case field.ErrorTypeForbidden:
		return gatewayv1.RouteReasonRefNotPermitted
	case field.ErrorTypeInvalid:
		return gatewayv1.RouteReasonUnsupportedProtocol
	default:
		return gatewayv1.RouteReasonBackendNotFound
	}
}

func newNotFound(path *field.Path, value any, why string) *field.Error {
	e := field.NotFound(path, value)
	e.Detail = why
	return e
}

// portKey names a port of a Service, by its index.
type portKey struct {
	service *resource.Object[corev1.Service]
	index   int
}

// getServicePort gives the backend for a Service's port, once.
func (x *Index) getServicePort(key portKey) *Backend {
	if b := x.ports[key]; b != nil {
		return b
	}
	behind := x.slices[key.service.Key()]
	b := x.cache.getOrBuild(key, behind, x.rep, func(rep *report.Report) *Backend { return newBackend(key, behind, rep) })
	x.ports[key] = b
	return b
}

// newBackend gathers the endpoints of a Service's port from its EndpointSlices.
func newBackend(key portKey, behind []*endpointSlice, rep *report.Report) *Backend {
	service, port := key.service, key.service.Value.Spec.Ports[key.index]
	b := &Backend{Identity: Identity{
		Name: fmt.Sprintf("%s:%d", service.Key(), port.Port), Service: service.Key(), Port: port.Port,
		Object:   object.Ref{Kind: object.KindService, Namespace: service.Namespace, Name: service.Name},
		ClientIP: service.Value.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		Cluster:  fmt.Sprintf("service/%s/%d", service.Key(), port.Port),
	}, Endpoints: collectEndpoints(service, port, behind, rep)}
	path := field.NewPath("spec", "ports").Index(key.index)
	if p := port.AppProtocol; p != nil {
		b.Protocol = appProtocols[*p]
		if b.Protocol == ProtocolUnset {
			rep.ErrorAt(service, path.Child("appProtocol").String(), fmt.Sprintf("not supported yet: %q", *p))
		}
	}
	if d := service.Value.Spec.TrafficDistribution; d != nil {
		b.TrafficDistribution = *d
		rep.Advise(service, field.NewPath("spec", "trafficDistribution"), "not carried: every endpoint is as good as any other, wherever it runs")
	}
	if b.ClientIP {
		rep.Advise(service, field.NewPath("spec", "sessionAffinity"), "ClientIP is not followed: it concerns the way through the Service's own address, and Envoy chooses endpoints itself")
	}
	if !b.Ready() {
		rep.Warn(service, field.Invalid(path, port.Port, fmt.Sprintf("no EndpointSlice has a ready endpoint for the port named %q: new requests for it get 503", port.Name)))
	}
	return b
}

// collectEndpoints gives what the Service's EndpointSlices hold for a port, of the Service's first family that has any:
// the second address of a dual-stack host is the same host.
func collectEndpoints(service *resource.Object[corev1.Service], port corev1.ServicePort, behind []*endpointSlice, rep *report.Report) []ir.Endpoint {
	families := append(slices.Clone(service.Value.Spec.IPFamilies), corev1.IPv4Protocol, corev1.IPv6Protocol)
	for _, family := range families {
		found := map[netip.AddrPort]ir.Endpoint{}
		for _, s := range behind {
			if string(s.Value.AddressType) == string(family) {
				addSlice(found, s, port, rep)
			}
		}
		if len(found) > 0 {
			return sortEndpoints(found)
		}
	}
	return nil
}

// addSlice adds a slice's endpoints. The slice's port is the one with the name of the Service's port.
func addSlice(found map[netip.AddrPort]ir.Endpoint, s *endpointSlice, port corev1.ServicePort, rep *report.Report) {
	at := slices.IndexFunc(s.Value.Ports, func(p discoveryv1.EndpointPort) bool {
		return *p.Name == port.Name && *p.Protocol == port.Protocol && p.Port != nil
	})
	if at < 0 {
		return
	}
	for i, e := range s.Value.Endpoints {
		if len(e.Addresses) > 1 {
			path := field.NewPath("endpoints").Index(i).Child("addresses").Index(1)
			rep.ErrorAt(s, path.String(), "not supported yet: an endpoint's further addresses have no meaning in Kubernetes")
		}
		draining, serves := readConditions(e.Conditions)
		if !serves {
			continue
		}
		addEndpoint(found, e.Addresses[0], *s.Value.Ports[at].Port, draining)
	}
}

// addEndpoint adds an endpoint; one that is there twice drains if it does so everywhere. Both parts were checked by schema.
func addEndpoint(found map[netip.AddrPort]ir.Endpoint, address string, port int32, draining bool) {
	at := netip.AddrPortFrom(netip.MustParseAddr(address), uint16(port))
	if was, twice := found[at]; !twice || was.Draining {
		found[at] = ir.Endpoint{Address: at, Draining: draining}
	}
}

// readConditions reads an endpoint's conditions: ready unless they say otherwise; one that is terminating and still serving
// drains; any other does not serve.
func readConditions(c discoveryv1.EndpointConditions) (draining, serves bool) {
	if c.Ready == nil || *c.Ready {
		return false, true
	}
	serving, terminating := c.Serving != nil && *c.Serving, c.Terminating != nil && *c.Terminating
	return true, serving && terminating
}

func sortEndpoints(found map[netip.AddrPort]ir.Endpoint) []ir.Endpoint {
	list := make([]ir.Endpoint, 0, len(found))
	for _, e := range found {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b ir.Endpoint) int { return a.Address.Compare(b.Address) })
	return list
}
