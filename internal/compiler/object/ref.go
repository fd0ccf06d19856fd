// Package object names objects of the input: what identifies one, what a targetRef leads to, and which of two objects
// goes first.
package object

// The kinds of objects that policies attach to.
const (
	KindGatewayClass = "GatewayClass"
	KindGateway      = "Gateway"
	KindHTTPRoute    = "HTTPRoute"
	KindGRPCRoute    = "GRPCRoute"
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
	// KindHTTPProxy is Contour's. Policies do not attach to it: it has one inside.
	KindHTTPProxy = "HTTPProxy"
	// KindExtensionService is Contour's too: a service that the proxy asks about requests.
	KindExtensionService = "ExtensionService"
	// KindIstioGateway is what Istio's Gateway is called here, for Gateway API has a kind of that name.
	KindIstioGateway = "IstioGateway"
	// KindServiceEntry is Istio's, by which hosts are added to its registry.
	KindServiceEntry = "ServiceEntry"
)

// ClusterDomain ends the names of Services among the hosts of Istio's registry.
const ClusterDomain = "cluster.local"

// The kinds of backendRefs that stand for Istio's destinations; Gateway API routes on Istio may have the first.
const (
	// KindHostname is a host of Istio's registry by its full name.
	KindHostname = "Hostname"
	// KindSubset is a subset of such a host, under the name SUBSET|HOST. No document can have it.
	KindSubset = "|Subset"
)

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

// Ref names an object. Namespace is empty for a GatewayClass.
type Ref struct{ Kind, Namespace, Name string }

// Key names the object within its kind: namespace/name, or the name alone where there is no namespace.
func (o Ref) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// String names the object as "HTTPRoute shop/cart".
func (o Ref) String() string {
	kind := o.Kind
	if kind == KindIstioGateway {
		kind = "Istio Gateway"
	}
	return kind + " " + o.Key()
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
