package resource

import (
	"reflect"
	"slices"
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

// addAll takes in the objects of another part of the input.
func (o *Objects) addAll(more *Objects) {
	o.Classes = append(o.Classes, more.Classes...)
	o.Gateways = append(o.Gateways, more.Gateways...)
	o.Routes = append(o.Routes, more.Routes...)
	o.Services = append(o.Services, more.Services...)
	o.Slices = append(o.Slices, more.Slices...)
	o.Secrets = append(o.Secrets, more.Secrets...)
	o.Grants = append(o.Grants, more.Grants...)
	o.SessionPolicies = append(o.SessionPolicies, more.SessionPolicies...)
	o.Proxies = append(o.Proxies, more.Proxies...)
	o.LoadBalancers = append(o.LoadBalancers, more.LoadBalancers...)
	o.TrafficPolicies = append(o.TrafficPolicies, more.TrafficPolicies...)
	o.Backends = append(o.Backends, more.Backends...)
	o.Platform = append(o.Platform, more.Platform...)
	o.IstioGateways = append(o.IstioGateways, more.IstioGateways...)
	o.VirtualServices = append(o.VirtualServices, more.VirtualServices...)
	o.ServiceEntries = append(o.ServiceEntries, more.ServiceEntries...)
}

// Equal reports whether the objects are the same ones, in the same order.
func (o *Objects) Equal(other *Objects) bool {
	return slices.Equal(o.Classes, other.Classes) && slices.Equal(o.Gateways, other.Gateways) &&
		slices.Equal(o.Routes, other.Routes) && slices.Equal(o.Services, other.Services) &&
		slices.Equal(o.Slices, other.Slices) && slices.Equal(o.Secrets, other.Secrets) &&
		slices.Equal(o.Grants, other.Grants) && slices.Equal(o.Proxies, other.Proxies) &&
		slices.Equal(o.LoadBalancers, other.LoadBalancers) && slices.Equal(o.SessionPolicies, other.SessionPolicies) &&
		slices.Equal(o.TrafficPolicies, other.TrafficPolicies) && slices.Equal(o.Backends, other.Backends) &&
		slices.Equal(o.Platform, other.Platform) && slices.Equal(o.IstioGateways, other.IstioGateways) &&
		slices.Equal(o.VirtualServices, other.VirtualServices) && slices.Equal(o.ServiceEntries, other.ServiceEntries)
}

// sortOrders says how objects were sorted the last time, by the type of their list; nil for a time that nobody knows of.
type sortOrders map[reflect.Type]*memo.SortOrder[any]

// sortAll puts every kind in order.
func (o *Objects) sortAll(known sortOrders) {
	sortList(known, &o.Classes)
	sortList(known, &o.Gateways)
	sortList(known, &o.Routes)
	sortList(known, &o.Services)
	sortList(known, &o.Slices)
	sortList(known, &o.Secrets)
	sortList(known, &o.Grants)
	sortList(known, &o.Proxies)
	sortList(known, &o.LoadBalancers)
	sortList(known, &o.SessionPolicies)
	sortList(known, &o.TrafficPolicies)
	sortList(known, &o.Backends)
	sortList(known, &o.Platform)
	sortList(known, &o.IstioGateways)
	sortList(known, &o.VirtualServices)
	sortList(known, &o.ServiceEntries)
}

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
