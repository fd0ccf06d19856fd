package status

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// balancing is a LoadBalancerPolicy.
type balancing = resource.Object[v1alpha1.LoadBalancerPolicy]

// balancers writes the status of LoadBalancerPolicies. What became of their targets is in the report.
func (b *builder) balancers() {
	for _, p := range b.Objects.LoadBalancers {
		was := written[gatewayv1.PolicyStatus](p.Status)
		b.add(p.Value.TypeMeta, p.Value.ObjectMeta, b.entries(p.Value.ObjectMeta, was, b.balancing(p)))
	}
}

// balancing gives a policy's entries: for each Gateway that leads to a target, and for targets that are missing or
// that no Gateway leads to (S59).
func (b *builder) balancing(p *balancing) []entry {
	problems := b.about(p)
	partial := slices.DeleteFunc(slices.Clone(problems), func(p report.Problem) bool {
		return strings.HasPrefix(p.Path, "spec.targetRefs") || slices.Contains(refusing, p.Reason)
	})
	var all []entry
	for i, target := range policy.BalancerTargets(p) {
		own := slices.DeleteFunc(slices.Clone(problems), func(p report.Problem) bool { return !within(p.Path, "spec.targetRefs", i) })
		if missing := having(own, gatewayv1.PolicyReasonTargetNotFound, gatewayv1.PolicyReasonInvalid); len(missing) > 0 {
			all = put(all, target, condition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyConditionReason(missing[0].Reason), says(missing)))
			continue
		}
		gateways := b.reach[target]
		for _, g := range gateways {
			if b.Decisions.Crowded.At(p.Source().Object, g) {
				continue
			}
			all = put(all, ladder.Target{Object: g}, balancingConditions(having(own, gatewayv1.PolicyReasonConflicted), partial)...)
		}
		if len(gateways) == 0 {
			all = put(all, target, condition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""), pending(target))
		}
	}
	return all
}

// put adds an entry. Of several targets below one Gateway, one in conflict speaks for all.
func put(all []entry, ref ladder.Target, conditions ...metav1.Condition) []entry {
	i := slices.IndexFunc(all, func(e entry) bool { return e.ref == ref })
	switch {
	case i < 0:
		return append(all, entry{ref, conditions})
	case conditions[0].Status == metav1.ConditionFalse:
		all[i].conditions = conditions
	}
	return all
}

func balancingConditions(conflicts, partial []report.Problem) []metav1.Condition {
	if len(conflicts) > 0 {
		return []metav1.Condition{condition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyReasonConflicted, says(conflicts))}
	}
	programmed := condition(v1alpha1.ConditionProgrammed, true, v1alpha1.ReasonProgrammed, "")
	if len(partial) > 0 {
		programmed = condition(v1alpha1.ConditionProgrammed, true, v1alpha1.ReasonPartiallyProgrammed, says(partial))
	}
	return []metav1.Condition{condition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""), programmed}
}

// pending is Programmed for a policy at a target that no request comes to.
func pending(target ladder.Target) metav1.Condition {
	return condition(v1alpha1.ConditionProgrammed, false, reasonPending, "no Gateway leads requests to "+target.String())
}

// reach knows which Gateways lead to which routes, rules, Services and XBackends.
type reach map[ladder.Target][]ladder.Object

// reachOf follows the parentRefs that attach, and backendRefs within a namespace, which need no grant; an HTTPProxy,
// which names no parents, by the ways that requests take.
func reachOf(objects *resource.Objects, facts *gateway.Facts, spreads []*lower.Spread) reach {
	r := reach{}
	for _, s := range spreads {
		for _, w := range s.Ways {
			for _, t := range w.Targets() {
				r.lead(t, w.Gateway)
			}
		}
	}
	for _, route := range objects.Routes {
		self := ladder.Object{Kind: route.Kind, Namespace: route.Namespace, Name: route.Name}
		for _, p := range facts.Parents[route.String()] {
			if p.Refused != nil || p.Foreign {
				continue
			}
			gateway := parentObject(route, p.Ref)
			r.lead(ladder.Target{Object: self}, gateway)
			for _, rule := range route.Value.Spec.Rules {
				if rule.Name != nil {
					r.lead(ladder.Target{Object: self, Section: string(*rule.Name)}, gateway)
				}
				for _, ref := range rule.BackendRefs {
					if kind := text(ref.Kind, ladder.KindService); kind == ladder.KindService || kind == ladder.KindXBackend {
						r.lead(ladder.Target{Object: ladder.Object{Kind: kind, Namespace: text(ref.Namespace, route.Namespace), Name: string(ref.Name)}}, gateway)
					}
				}
			}
		}
	}
	return r
}

func (r reach) lead(to ladder.Target, gateway ladder.Object) {
	if !slices.Contains(r[to], gateway) {
		r[to] = append(r[to], gateway)
	}
}

// balancersOf is the condition for a route on a Gateway: the LoadBalancerPolicies attached to it, its rules and its
// Services that are accepted.
func (b *builder) balancersOf(route *gateway.Route, on ladder.Object) []metav1.Condition {
	targets := map[ladder.Target]bool{}
	self := ladder.Object{Kind: route.Kind, Namespace: route.Namespace, Name: route.Name}
	targets[ladder.Target{Object: self}] = true
	for _, rule := range route.Value.Spec.Rules {
		if rule.Name != nil {
			targets[ladder.Target{Object: self, Section: string(*rule.Name)}] = true
		}
		for _, ref := range rule.BackendRefs {
			targets[ladder.Target{Object: ladder.Object{Kind: text(ref.Kind, ladder.KindService), Namespace: text(ref.Namespace, route.Namespace), Name: string(ref.Name)}}] = true
		}
	}
	var by []string
	for t := range targets {
		for _, p := range b.balancersAt[t] {
			if !b.Decisions.Crowded.At(p, on) {
				by = append(by, p.String())
			}
		}
	}
	slices.Sort(by)
	return affected(v1alpha1.ConditionLoadBalancerPolicyAffected, slices.Compact(by))
}

// arrangeBalancers gives the LoadBalancerPolicies that hold on each target.
func (b *builder) arrangeBalancers() map[ladder.Target][]ladder.Object {
	at := map[ladder.Target][]ladder.Object{}
	for _, p := range b.Objects.LoadBalancers {
		problems := b.about(p)
		for i, t := range policy.BalancerTargets(p) {
			refused := slices.ContainsFunc(problems, func(p report.Problem) bool {
				return within(p.Path, "spec.targetRefs", i) && slices.Contains(refusing, p.Reason)
			})
			if !refused {
				at[t] = append(at[t], p.Source().Object)
			}
		}
	}
	return at
}
