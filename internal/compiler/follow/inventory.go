package follow

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/coupling"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// inventory is the input, by what asks for it.
type inventory struct {
	// context are the objects that all routes may depend on, and those that the base alone reads: Secrets, ConfigMaps and
	// routes with a Host.
	context *resource.Objects
	// views are what says where requests arrive by way of a Gateway, by its key, and under the empty key of all; and sets
	// are the ListenerSets.
	views map[string]*resource.Objects
	sets  map[object.Ref]*resource.ListenerSet
	// namespaces are by their names, and what has a say in a whole namespace is by that.
	namespaces  map[string]*resource.Object[resource.Namespace]
	balancersIn map[string][]*loadBalancerPolicy
	trafficIn   map[string][]*trafficPolicy
	backendsIn  map[string][]*resource.Object[resource.XBackend]
	grantsIn    map[string][]*resource.Object[gatewayv1.ReferenceGrant]
	askedIn     map[string][]*authService
	// targetsOf are what policies of other kinds than session policies name as their targets, and targetedBy is the
	// reverse.
	targetsOf, targetedBy index.Sets[object.Ref, object.Ref]
	// refused are objects that are no good.
	refused map[object.Ref]bool
	routes  map[object.Ref]*gateway.Route
	// streams are the routes of connections and datagrams, those with a Host among them.
	streams map[object.Ref]*gateway.Route
	// services are by namespace/name, slices by that of their Service, and policies by their targets.
	services map[string]*service
	slices   index.Sets[string, *endpointSlice]
	// inNamespace are the keys of services and slices.
	inNamespace index.Sets[string, string]
	policies    map[object.Ref]*sessionPolicy
	policiesAt  index.Sets[object.Ref, *sessionPolicy]
	targets     *policy.Targets
	// local are the Services that may lead to Envoy's own machine, by namespace/name, with what says so.
	local index.Sets[string, object.Ref]
	graph *coupling.Graph
	// verifying counts the objects of each namespace that want hosts to show who they are.
	verifying map[string]int
}

func newInventory(controller gatewayv1.GatewayController) *inventory {
	o := &inventory{
		refused: map[object.Ref]bool{}, sets: map[object.Ref]*resource.ListenerSet{},
		routes: map[object.Ref]*gateway.Route{}, streams: map[object.Ref]*gateway.Route{},
		services: map[string]*service{}, inNamespace: index.Sets[string, string]{},
		slices:   index.Sets[string, *endpointSlice]{},
		policies: map[object.Ref]*sessionPolicy{}, policiesAt: index.Sets[object.Ref, *sessionPolicy]{},
		targets: policy.NewTargets(0),
		local:   index.Sets[string, object.Ref]{}, graph: coupling.NewGraph(), verifying: map[string]int{},
	}
	o.setContext(&resource.Objects{Controller: controller})
	return o
}

// countVerifying counts an object in or out among those of a namespace that want hosts to show who they are, for that
// takes Secrets or ConfigMaps.
func (o *inventory) countVerifying(namespace string, verifies bool, by int) {
	if verifies {
		count(o.verifying, namespace, by)
	}
}

// noteNamespace keeps the key of a Service or of its slices among those of a namespace, as long as there are any.
func (o *inventory) noteNamespace(namespace, key string) {
	o.inNamespace.Set(namespace, key, o.services[key] != nil || len(o.slices[key]) > 0)
}

// setContext takes in the objects that all routes may depend on.
func (o *inventory) setContext(now *resource.Objects) {
	o.context, o.namespaces = now, byKey(now.Namespaces)
	o.balancersIn, o.trafficIn = byNamespace(now.LoadBalancers), byNamespace(now.TrafficPolicies)
	o.backendsIn, o.grantsIn, o.askedIn = byNamespace(now.Backends), byNamespace(now.Grants), byNamespace(now.AuthServices)
	o.views = o.newViews()
	o.setTargets()
}

// setTargets notes which policies of all routes name what as their targets.
func (o *inventory) setTargets() {
	o.targetsOf, o.targetedBy = index.Sets[object.Ref, object.Ref]{}, index.Sets[object.Ref, object.Ref]{}
	note := func(policy, target object.Ref) {
		o.targetsOf.Add(policy, target)
		o.targetedBy.Add(target, policy)
	}
	for _, p := range o.context.LoadBalancers {
		for _, t := range resource.LoadBalancerTargets(p) {
			note(p.Ref(), t.Ref)
		}
	}
	for _, p := range o.context.BackendTLS {
		for _, ref := range p.Value.Spec.TargetRefs {
			note(p.Ref(), backendtls.TargetOf(p, ref).Ref)
		}
	}
	for _, p := range o.context.TrafficPolicies {
		for _, ref := range p.Value.Spec.TargetRefs {
			note(p.Ref(), object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)})
		}
	}
}
