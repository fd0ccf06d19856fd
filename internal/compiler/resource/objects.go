package resource

import (
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// Object is an admitted object, with its defaults filled in. It is the subject of what is reported about it.
type Object[T any] struct {
	*read.Document
	// Kind is the kind that was read, such as GRPCRoute.
	Kind            string
	Namespace, Name string
	// Created is the creation time, the zero time where the document has none.
	Created time.Time
	// Labels are the object's labels.
	Labels map[string]string
	Value  *T
	// Sessions are the sessionPersistence blocks that stand in the object, by their paths, such as
	// spec.rules[0].sessionPersistence. They are not in Value.
	Sessions map[string]*sessionapi.InlineSession
}

// Origin names the object as a place where session persistence is written.
func (o *Object[T]) Origin() object.Origin {
	return object.Origin{Ref: object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}, Created: o.Created}
}

// Key names the object within its kind: namespace/name.
func (o *Object[T]) Key() string { return o.Namespace + "/" + o.Name }

// Objects is the admitted input, each kind in the order in which Gateway API settles conflicts.
type Objects struct {
	Classes  []*Object[gatewayv1.GatewayClass]
	Gateways []*Object[gatewayv1.Gateway]
	// Routes are HTTPRoutes, and GRPCRoutes in the shape of HTTPRoutes.
	Routes   []*Object[gatewayv1.HTTPRoute]
	Services []*Object[corev1.Service]
	Slices   []*Object[discoveryv1.EndpointSlice]
	Secrets  []*Object[Secret]
	Grants   []*Object[gatewayv1.ReferenceGrant]

	Proxies         []*Object[HTTPProxy]
	LoadBalancers   []*Object[v1alpha1.LoadBalancerPolicy]
	SessionPolicies []*Object[v1alpha1.SessionPersistencePolicy]
	TrafficPolicies []*Object[gatewayxv1alpha1.XBackendTrafficPolicy]
	Backends        []*Object[XBackend]
	// Platform are objects of the control plane's own kinds (Options.Own); their Written is all that is known of them.
	Platform []*Object[Platform]

	IstioGateways   []*Object[IstioGateway]
	VirtualServices []*Object[VirtualService]
	ServiceEntries  []*Object[ServiceEntry]
}

// sortOrders says how objects were sorted the last time, by the type of their list; nil for a time that nobody knows of.
type sortOrders map[reflect.Type]*memo.SortOrder[any]

func sortList[T any](known sortOrders, list *[]*Object[T]) {
	var order *memo.SortOrder[any]
	if known != nil {
		of := reflect.TypeFor[T]()
		if known[of] == nil {
			known[of] = &memo.SortOrder[any]{}
		}
		order = known[of]
	}
	*list = memo.Sort(order, *list, func(x *Object[T]) any { return x }, ByAge)
}

// ByAge is [object.ByAge] for admitted objects.
func ByAge[T any](a, b *Object[T]) int { return object.ByAge(a.Origin(), b.Origin()) }
