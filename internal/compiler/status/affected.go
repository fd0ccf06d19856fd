package status

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// ownedByAffected are the conditions that go from an object when no policy affects it any more.
var ownedByAffected = []string{
	v1alpha1.ConditionSessionPersistencePolicyAffected,
	v1alpha1.ConditionLoadBalancerPolicyAffected,
	v1alpha1.ConditionXBackendTrafficPolicyAffected,
}

// affectedBy names the condition for each kind of policy.
var affectedBy = map[string]string{
	object.KindSessionPolicy: v1alpha1.ConditionSessionPersistencePolicyAffected,
	object.KindLoadBalancer:  v1alpha1.ConditionLoadBalancerPolicyAffected,
	object.KindTrafficPolicy: v1alpha1.ConditionXBackendTrafficPolicyAffected,
}

// anyGateway is in the place of a Gateway where paths through all of them count.
var anyGateway object.Ref

// affecting are the policies by their kind, and each once.
type affecting map[string][]string

func (a affecting) add(policy object.Ref) {
	a[policy.Kind] = appendOnce(a[policy.Kind], policy.String())
}

// listConditions gives a condition for each kind of policy that affects the object.
func (a affecting) listConditions() (conditions []metav1.Condition) {
	for _, kind := range slices.Sorted(maps.Keys(a)) {
		if affectedBy[kind] != "" {
			conditions = append(conditions, newAffected(affectedBy[kind], a[kind])...)
		}
	}
	return conditions
}

// findAffecting finds the policies with a field that holds on a path through an object and a Gateway (S62).
func (b *builder) findAffecting(ref, gateway object.Ref) affecting {
	found := affecting{}
	for _, d := range b.index.paths[object.TargetRef{Ref: ref}] {
		if gateway != anyGateway && d.Path.Gateway != gateway {
			continue
		}
		for _, f := range d.Effective.Fields {
			if f.Level != precedence.BuiltIn && (d.Effective.On || f.Value == true) {
				found.add(f.Origin.Ref)
			}
		}
	}
	for _, t := range b.trafficAt[trafficKey{ref, gateway}] {
		if t.LoadBalancing.Policy != nil {
			found.add(t.LoadBalancing.Policy.Object)
		}
		if t.RetryBudget != nil {
			found.add(t.EffectiveBudget.Policy)
		}
	}
	return found
}

// affectedRoute is the conditions for a route on a Gateway, but for LoadBalancerPolicies: those that are attached
// count.
func (b *builder) affectedRoute(route, gateway object.Ref) []metav1.Condition {
	found := b.findAffecting(route, gateway)
	delete(found, object.KindLoadBalancer)
	return found.listConditions()
}

// affectedBackend is the conditions for a Service or an XBackend, on one Gateway or on any.
func (b *builder) affectedBackend(backend, gateway object.Ref) []metav1.Condition {
	return b.findAffecting(backend, gateway).listConditions()
}

// trafficKey is an object and a Gateway that requests come through to it.
type trafficKey struct{ object, gateway object.Ref }

// indexTraffic arranges the ways of requests by what they lead through.
func indexTraffic(traffic []*lower.BackendTraffic) map[trafficKey][]*lower.BackendTraffic {
	index := map[trafficKey][]*lower.BackendTraffic{}
	for _, t := range traffic {
		for _, path := range t.Paths {
			for _, ref := range []object.Ref{path.Route, t.Backend.Ref} {
				for _, key := range []trafficKey{{ref, path.Gateway}, {ref, anyGateway}} {
					noteAt(index, key, t)
				}
			}
		}
	}
	return index
}

// affectedTarget is the condition for objects, or sections of them, that policies are attached to.
func (b *builder) affectedTarget(targets ...object.TargetRef) []metav1.Condition {
	var by []string
	for _, t := range targets {
		for _, a := range b.index.effective[t] {
			if !b.Decisions.AncestorLimit.Reached(a.Policy.Ref, t.Ref) {
				by = appendOnce(by, a.Policy.String())
			}
		}
	}
	return newAffected(v1alpha1.ConditionSessionPersistencePolicyAffected, by)
}

// affectedGateway is affectedTarget for a Gateway, and for each kind of policy False if one would affect it whose
// status has no room for another ancestor (S63).
func (b *builder) affectedGateway(gateway object.Ref, class string) []metav1.Condition {
	without := map[string][]string{}
	for _, policy := range b.Decisions.AncestorLimit.PoliciesWithout(gateway) {
		without[policy.Kind] = append(without[policy.Kind], policy.String())
	}
	var conditions []metav1.Condition
	for _, kind := range slices.Sorted(maps.Keys(without)) {
		slices.Sort(without[kind])
		conditions = append(conditions, newCondition(affectedBy[kind], false, gatewayv1.PolicyReasonInvalid,
			"no effect here, for a policy's status has no room for a seventeenth ancestor: "+joinLimited(without[kind])))
	}
	if without[object.KindSessionPolicy] != nil {
		return conditions
	}
	return append(conditions, b.affectedTarget(
		object.TargetRef{Ref: gateway}, object.TargetRef{Ref: object.Ref{Kind: object.KindGatewayClass, Name: class}})...)
}

func newAffected(kind string, by []string) []metav1.Condition {
	if len(by) == 0 {
		return nil
	}
	slices.Sort(by)
	return []metav1.Condition{newCondition(kind, true, gatewayv1.PolicyReasonAccepted, "affected by "+joinLimited(by))}
}
