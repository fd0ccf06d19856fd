package resource

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
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
	// Faults are what limpet does not support in the object, by path.
	Faults []Fault
	// Unserved are the parents of a route that are none of limpet's, in the words of its document; RuleExtras have what
	// its rules say that Gateway API has no fields for, or are empty.
	Unserved   []foreign.Unserved
	RuleExtras []foreign.Rule
	// Host is how a route attaches that names no parents; nil for one of Gateway API.
	Host *foreign.Host
}

// ExtraOf is what is known of a rule besides its spec.
func (o *Object[T]) ExtraOf(rule int) foreign.Rule {
	if rule >= len(o.RuleExtras) {
		return foreign.Rule{}
	}
	return o.RuleExtras[rule]
}

// Verifies reports whether hosts of a rule's backends have to show who they are.
func (o *Object[T]) Verifies() bool {
	return slices.ContainsFunc(o.RuleExtras, func(r foreign.Rule) bool {
		return r.Mirror.Validation != nil ||
			slices.ContainsFunc(r.Backends, func(b foreign.Backend) bool { return b.Validation != nil })
	})
}

// Ref is the object, by what its kind is called here.
func (o *Object[T]) Ref() object.Ref {
	return object.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// Origin names the object as a place where session persistence is written.
func (o *Object[T]) Origin() object.Origin { return object.Origin{Ref: o.Ref(), Created: o.Created} }

// Key names the object within its kind: namespace/name.
func (o *Object[T]) Key() string { return o.Namespace + "/" + o.Name }

// Objects is the admitted input, each kind in the order in which Gateway API settles conflicts.
type Objects struct {
	Classes []*Object[gatewayv1.GatewayClass]
	// Gateways are of another API too, whose proxies have the labels of their infrastructure.
	Gateways []*Object[gatewayv1.Gateway]
	// ListenerSets add listeners to Gateways.
	ListenerSets []*ListenerSet
	// Routes are HTTPRoutes, and in their shape GRPCRoutes, the routes of connections (IsStreamRoute) and those of other
	// APIs.
	Routes   []*Object[gatewayv1.HTTPRoute]
	Services []*Object[corev1.Service]
	Slices   []*Object[discoveryv1.EndpointSlice]
	Pods     []*Object[Pod]
	Secrets  []*Object[Secret]
	Grants   []*Object[gatewayv1.ReferenceGrant]

	Namespaces []*Object[Namespace]
	// BackendTLS ask for TLS to backends, and ConfigMaps have certificates of authorities.
	BackendTLS []*BackendTLSPolicy
	ConfigMaps []*Object[ConfigMap]

	// HostRoutes are routes with a Host, in the shape of HTTPRoutes.
	HostRoutes []*Object[gatewayv1.HTTPRoute]
	// AuthServices stand for Services that the proxy itself asks.
	AuthServices    []*Object[AuthService]
	LoadBalancers   []*Object[v1alpha1.LoadBalancerPolicy]
	SessionPolicies []*Object[v1alpha1.SessionPersistencePolicy]
	TrafficPolicies []*Object[gatewayxv1alpha1.XBackendTrafficPolicy]
	Backends        []*Object[XBackend]
	// Platform are objects of the control plane's own kinds (Options.PlatformKinds); their Written is all that is known of
	// them.
	Platform []*Object[Platform]

	// Hosts are those that a control plane knows besides Services.
	Hosts []*Object[Host]

	// Refused are the objects of the input that are left out, in order, for they are invalid.
	Refused []object.Ref
	// Controller is the name under which limpet serves GatewayClasses and writes status; empty for the usual one.
	Controller gatewayv1.GatewayController
	// PassedOver counts the documents that are none of limpet's business, by kind; empty for no kind of Kubernetes.
	PassedOver map[string]int
	// Written are the objects of kinds that limpet writes for control planes.
	Written []Written
}

// Written is an object of a kind that limpet writes, or one that it has written.
type Written struct {
	object.Ref
	Subject report.Subject
	// Ours says that limpet wrote it, and Owner for whom; empty where that was not said.
	Ours  bool
	Owner string
}

// ControllerName is the name under which limpet serves GatewayClasses and writes status.
func (o *Objects) ControllerName() gatewayv1.GatewayController {
	return cmp.Or(o.Controller, v1alpha1.ControllerName)
}

// IsRefused reports whether there is an object in the input that is invalid.
func (o *Objects) IsRefused(ref object.Ref) bool {
	_, found := slices.BinarySearchFunc(o.Refused, ref, compareRefs)
	return found
}

// Absence says why an object is not among those that are admitted: it is refused, or not there at all.
func (o *Objects) Absence(ref object.Ref) string { return Absence(ref, o.IsRefused(ref)) }

func compareRefs(a, b object.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// IsEmpty reports whether there is no object.
func (o *Objects) IsEmpty() bool { return o.Equal(noObjects) }

var noObjects = &Objects{}

// passOver counts a document that is passed over.
func (o *Objects) passOver(kind string) {
	if o.PassedOver == nil {
		o.PassedOver = map[string]int{}
	}
	o.PassedOver[kind]++
}

// ByAge is [object.ByAge] for admitted objects.
func ByAge[T any](a, b *Object[T]) int { return object.ByAge(a.Origin(), b.Origin()) }
