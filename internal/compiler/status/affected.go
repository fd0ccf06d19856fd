package status

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
)

// ownedByAffected are the conditions that go from an object when no policy affects it any more.
var ownedByAffected = []string{
	v1alpha1.ConditionSessionPersistencePolicyAffected, v1alpha1.ConditionLoadBalancerPolicyAffected, v1alpha1.ConditionXBackendTrafficPolicyAffected,
}

// affectedBy names the condition for each kind of policy.
var affectedBy = map[string]string{
	ladder.KindSessionPolicy: v1alpha1.ConditionSessionPersistencePolicyAffected,
	ladder.KindLoadBalancer:  v1alpha1.ConditionLoadBalancerPolicyAffected,
	ladder.KindTrafficPolicy: v1alpha1.ConditionXBackendTrafficPolicyAffected,
}

// affectedRoute is the condition for a route on a Gateway: the policies with a field that holds there (S62). Nothing
// if there are none.
func (b *builder) affectedRoute(route, gateway ladder.Object) []metav1.Condition {
	var by []string
	for _, d := range b.decided.ways[ladder.Target{Object: route}] {
		if d.Way.Gateway != gateway {
			continue
		}
		for i := range d.Effective.Fields {
			f := &d.Effective.Fields[i]
			if f.Rung != ladder.BuiltIn && f.Source.Kind == ladder.KindSessionPolicy && (d.Effective.On || f.Value == true) {
				by = once(by, f.Source.String())
			}
		}
	}
	return affected(v1alpha1.ConditionSessionPersistencePolicyAffected, by)
}

// affectedTarget is the condition for objects, or sections of them, that policies are attached to.
func (b *builder) affectedTarget(targets ...ladder.Target) []metav1.Condition {
	var by []string
	for _, t := range targets {
		for _, a := range b.decided.holding[t] {
			if !b.Decisions.Crowded.At(a.Policy.Object, t.Object) {
				by = once(by, a.Policy.String())
			}
		}
	}
	return affected(v1alpha1.ConditionSessionPersistencePolicyAffected, by)
}

// affectedGateway is affectedTarget for a Gateway, and for each kind of policy False if one would affect it whose
// status has no room for another ancestor (S63).
func (b *builder) affectedGateway(gateway ladder.Object, class string) []metav1.Condition {
	without := map[string][]string{}
	for policy, gateways := range b.Decisions.Crowded {
		if gateways[gateway] {
			without[policy.Kind] = append(without[policy.Kind], policy.String())
		}
	}
	var conditions []metav1.Condition
	for _, kind := range slices.Sorted(maps.Keys(without)) {
		slices.Sort(without[kind])
		conditions = append(conditions, condition(affectedBy[kind], false, gatewayv1.PolicyReasonInvalid,
			"no effect here, for a policy's status has no room for a seventeenth ancestor: "+listed(without[kind])))
	}
	if without[ladder.KindSessionPolicy] != nil {
		return conditions
	}
	return append(conditions, b.affectedTarget(
		ladder.Target{Object: gateway}, ladder.Target{Object: ladder.Object{Kind: ladder.KindGatewayClass, Name: class}})...)
}

func affected(kind string, by []string) []metav1.Condition {
	if len(by) == 0 {
		return nil
	}
	slices.Sort(by)
	return []metav1.Condition{condition(kind, true, gatewayv1.PolicyReasonAccepted, "affected by "+listed(by))}
}
