// Package object names objects of the input: what identifies one, what a targetRef leads to, and which of two objects
// goes first.
package object

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The kinds of objects that policies attach to.
const (
	KindGatewayClass = "GatewayClass"
	KindGateway      = "Gateway"
	KindHTTPRoute    = "HTTPRoute"
	KindGRPCRoute    = "GRPCRoute"
	KindNamespace    = "Namespace"
	KindService      = "Service"
	KindXBackend     = "XBackend"

	// KindListenerSet adds listeners to a Gateway.
	KindListenerSet = "ListenerSet"
	// The kinds of routes of connections and datagrams, which have no sessions: policies do not attach to them.
	KindTLSRoute = "TLSRoute"
	KindTCPRoute = "TCPRoute"
	KindUDPRoute = "UDPRoute"

	// KindVirtualService is Istio's, of which a rule is an HTTP route.
	KindVirtualService = "VirtualService"
	// KindIstioGateway is what Istio's Gateway is called here, for Gateway API has a kind of that name.
	KindIstioGateway = "Istio Gateway"
)

// ClusterDomain ends the names of Services among the hosts of Istio's registry.
const ClusterDomain = "cluster.local"

// KindHostname is the kind of backendRefs to a host of Istio's registry by its full name.
const KindHostname = "Hostname"

// RouteKinds are the kinds of routes that policies attach to.
var RouteKinds = []string{KindHTTPRoute, KindGRPCRoute, KindVirtualService}

// apiKinds are those kinds that are not Gateway API's.
var apiKinds = map[string]schema.GroupKind{
	KindNamespace:      {Kind: KindNamespace},
	KindService:        {Kind: KindService},
	KindVirtualService: {Group: "networking.istio.io", Kind: KindVirtualService},
	KindHostname:       {Group: "networking.istio.io", Kind: KindHostname},
	KindIstioGateway:   {Group: "networking.istio.io", Kind: KindGateway},
}

// APIKind gives a kind as its API has it.
func APIKind(kind string) schema.GroupKind {
	if gk, other := apiKinds[kind]; other {
		return gk
	}
	return schema.GroupKind{Group: gatewayv1.GroupName, Kind: kind}
}

// The kinds of policies.
const (
	KindSessionPolicy = "SessionPersistencePolicy"
	KindTrafficPolicy = "XBackendTrafficPolicy"
	KindLoadBalancer  = "LoadBalancerPolicy"

	// KindBackendTLSPolicy is Gateway API's, and KindConfigMap what it takes certificates from.
	KindBackendTLSPolicy = "BackendTLSPolicy"
	KindConfigMap        = "ConfigMap"
	KindSecret           = "Secret"
)

// Ref names an object. Namespace is empty for a GatewayClass and a Namespace.
type Ref struct{ Kind, Namespace, Name string }

// ParseKey names the object of a kind with a key.
func ParseKey(kind, key string) Ref {
	namespace, name, within := strings.Cut(key, "/")
	if !within {
		return Ref{Kind: kind, Name: key}
	}
	return Ref{Kind: kind, Namespace: namespace, Name: name}
}

// Key names the object within its kind: namespace/name, or the name alone where there is no namespace.
func (o Ref) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// String names the object as "HTTPRoute shop/cart".
func (o Ref) String() string {
	return o.Kind + " " + o.Key()
}

// TargetRef is what blocks attach to: an object or, with Section, the rule or listener of that name in it.
type TargetRef struct {
	Ref
	Section string
}

// String names the target as "Gateway infra/web, sectionName https".
func (t TargetRef) String() string {
	if t.Section == "" {
		return t.Ref.String()
	}
	return t.Ref.String() + ", sectionName " + t.Section
}
