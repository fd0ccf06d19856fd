// Package backend finds what a backendRef leads to: a port of a Service and the endpoints behind it.
package backend

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

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
	// Unready are the addresses of hosts that do not serve now and may come back.
	Unready []netip.AddrPort
	// Faulty says that there is something to say of single endpoints.
	Faulty bool
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
	// PortName is the port's name, which policies can be attached to; empty for none.
	PortName string
	// Subset is the name of a part of the hosts, empty for all.
	Subset string
	// ClientIP says that the Service wants sessionAffinity of its own.
	ClientIP bool
	// Cluster is the name of the cluster that all rules share for it.
	Cluster string
	// Protocol is what the Service's port says of it.
	Protocol Protocol
	// TrafficDistribution is the Service's trafficDistribution, its wish for near endpoints; empty for none.
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

// IsOf tells whether it is the backend of a name, or a subset of that.
func (i *Identity) IsOf(name string) bool {
	return i.Name == name || i.Subset != "" && i.Name == name+"/"+i.Subset
}

// Target is the target of policies for the backend's port or, for a port without a name, of policies for the whole
// backend.
func (i *Identity) Target() object.TargetRef {
	return object.TargetRef{Ref: i.Object, Section: i.PortName}
}

// appProtocols are the values of appProtocol that are read: those of KEP-3726, IANA's http, and what clusters have from
// before there was a list. A websocket begins as HTTP/1.1.
var appProtocols = map[string]Protocol{
	"http": HTTP1, "kubernetes.io/ws": HTTP1, "ws": HTTP1,
	"kubernetes.io/h2c": HTTP2, "h2c": HTTP2, "http2": HTTP2, "grpc": HTTP2,
}

// Ready reports whether the backend takes new requests.
func (b *Backend) Ready() bool {
	return slices.ContainsFunc(b.Endpoints, func(e ir.Endpoint) bool { return !e.Draining })
}

type endpointSlice = resource.Object[discoveryv1.EndpointSlice]

// Index holds the Services and EndpointSlices of the input.
type Index struct {
	objects   *resource.Objects
	services  map[string]*resource.Object[corev1.Service]
	xbackends *xbackends
	resolved  map[string]*Backend
	ports     map[PortKey]*ServicePort
	reported  map[*ServicePort]bool
	grants    grant.Grants
	places    *Places
	rep       *report.Report
	// secured tells whether requests to a port of a Service go over TLS.
	secured func(port object.TargetRef) bool
	// unverified says that a control plane looks after Services and endpoints.
	unverified bool
	// platformKinds are its own kinds of backends.
	platformKinds []runtimeschema.GroupKind
}

// NewIndex makes an index of the objects, with the ports of Services that [GatherPorts] found and [BuildPort] made.
// What is wrong with one that a route uses goes to the report, once.
func NewIndex(
	objects *resource.Objects,
	ports []*ServicePort,
	pods *Selection,
	places *Places,
	rep *report.Report,
) *Index {
	x := &Index{
		objects:   objects,
		services:  make(map[string]*resource.Object[corev1.Service], len(objects.Services)),
		resolved:  map[string]*Backend{},
		ports:     make(map[PortKey]*ServicePort, len(ports)),
		reported:  make(map[*ServicePort]bool, len(ports)),
		grants:    grant.New(objects),
		places:    places,
		rep:       rep,
		xbackends: indexXBackends(objects, pods),
	}
	for _, s := range objects.Services {
		x.services[s.Key()] = s
	}
	for _, p := range ports {
		x.ports[p.inputs.Key()] = p
	}
	return x
}

// Resolve follows a reference of a route. Nil means that it is invalid, and the field error says why: the requests
// that were meant for it get 500.
func (x *Index) Resolve(
	route *resource.Object[gatewayv1.HTTPRoute],
	path *field.Path,
	ref gatewayv1.BackendRef,
) (*Backend, *field.Error) {
	namespace := route.Namespace
	if IsXBackend(ref) {
		return x.resolveXBackend(namespace, path, ref)
	}
	if x.isPlatformKind(ref) {
		return x.resolvePlatformKind(namespace, ref), nil
	}
	if x.unverified && ref.Group != nil && string(*ref.Group) == object.APIKind(object.KindHostname).Group &&
		ref.Kind != nil {
		return x.resolveHost(namespace, ref), nil
	}
	if isAuthService(route, ref.BackendObjectReference) {
		return x.resolveAuthService(route, path, ref)
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
	from, to := grant.From{
		Kind:      route.Kind,
		Namespace: route.Namespace,
	}, grant.To{
		Kind:      "Service",
		Namespace: namespace,
		Name:      string(ref.Name),
	}
	if !x.grants.Allow(from, to) {
		return nil, field.Forbidden(
			path.Child("namespace"),
			fmt.Sprintf("no ReferenceGrant in namespace %s allows it", namespace),
		)
	}
	return x.resolveService(connectionKind(route), namespace+"/"+string(ref.Name), path, ref)
}

// connectionKind is the kind of the route, or the one that stands for it where it is of another API.
func connectionKind(route *resource.Object[gatewayv1.HTTPRoute]) string {
	if route.Host != nil && resource.IsStreamRoute(route.Value.Kind) {
		return route.Value.Kind
	}
	return route.Kind
}

// IsXBackend reports whether a reference is to an XBackend, be it there or not.
func IsXBackend(ref gatewayv1.BackendRef) bool {
	return ref.Group != nil && *ref.Group == gatewayxv1alpha1.GroupName && ref.Kind != nil &&
		*ref.Kind == object.KindXBackend
}

// Secure tells the index which ports of Services requests go to over TLS.
func (x *Index) Secure(secured func(port object.TargetRef) bool) { x.secured = secured }

// absence says why a Service is not there.
func (x *Index) absence(key string) string {
	namespace, name, _ := strings.Cut(key, "/")
	return x.objects.Absence(object.Ref{Kind: object.KindService, Namespace: namespace, Name: name})
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

// Used gives the ports of Services that references have led to.
func (x *Index) Used() iter.Seq[*Backend] {
	return func(yield func(*Backend) bool) {
		for p := range x.reported {
			if !yield(&p.Backend) {
				return
			}
		}
	}
}
