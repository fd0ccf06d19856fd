package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/grant"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

type loadBalancerPolicy = resource.Object[v1alpha1.LoadBalancerPolicy]

// writeLoadBalancers writes the status of LoadBalancerPolicies. What became of their targets is in the report.
func (b *builder) writeLoadBalancers() {
	for _, p := range wanted(b, b.Objects.LoadBalancers) {
		was := parseStatus[gatewayv1.PolicyStatus](b, p)
		now := b.newPolicyStatus(p.Value.ObjectMeta, was, b.listLoadBalancerEntries(p))
		b.addObject(p.Value.TypeMeta, p.Value.ObjectMeta, now)
	}
}

// listLoadBalancerEntries gives a policy's entries: for each Gateway that leads to a target, and for targets that are
// missing or that no Gateway leads to (S59).
func (b *builder) listLoadBalancerEntries(p *loadBalancerPolicy) []entry {
	problems := b.problems[p.Ref()]
	partial := slices.DeleteFunc(slices.Clone(problems), func(p report.Problem) bool {
		return p.Place.Section == report.TargetRefs || p.Verdict() == report.Refused
	})
	var all []entry
	for i, target := range resource.LoadBalancerTargets(p) {
		own := filterByPlace(problems, func(p report.Place) bool { return p.IsIn(report.TargetRefs, i) })
		if missing := filterByReason(own, gatewayv1.PolicyReasonTargetNotFound, gatewayv1.PolicyReasonInvalid); len(
			missing,
		) > 0 {
			all = putEntry(
				all,
				target,
				newCondition(
					gatewayv1.PolicyConditionAccepted,
					false,
					gatewayv1.PolicyConditionReason(missing[0].Reason),
					joinProblems(missing),
				),
			)
			continue
		}
		gateways := b.reachability[target]
		for _, g := range gateways {
			if b.Decisions.AncestorLimit.Reached(p.Ref(), g) {
				continue
			}
			all = putEntry(
				all,
				object.TargetRef{Ref: g},
				balancingConditions(filterByReason(own, gatewayv1.PolicyReasonConflicted), partial)...)
		}
		if len(gateways) == 0 {
			all = putEntry(
				all,
				target,
				newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""),
				newPending(target),
			)
		}
	}
	return all
}

// putEntry adds an entry. Of several targets behind one Gateway, the entry of one in conflict is kept.
func putEntry(all []entry, ref object.TargetRef, conditions ...metav1.Condition) []entry {
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
		return []metav1.Condition{
			newCondition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyReasonConflicted, joinProblems(conflicts)),
		}
	}
	programmed := newCondition(v1alpha1.ConditionProgrammed, true, v1alpha1.ReasonProgrammed, "")
	if len(partial) > 0 {
		programmed = newCondition(
			v1alpha1.ConditionProgrammed,
			true,
			v1alpha1.ReasonPartiallyProgrammed,
			joinProblems(partial),
		)
	}
	return []metav1.Condition{
		newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""),
		programmed,
	}
}

// newPending is the condition Programmed of a policy at a target that no request comes to.
func newPending(target object.TargetRef) metav1.Condition {
	return newCondition(
		v1alpha1.ConditionProgrammed,
		false,
		reasonPending,
		"no Gateway leads requests to "+target.String(),
	)
}

// reachability knows which Gateways lead to which routes, rules, Services and XBackends.
type reachability map[object.TargetRef][]object.Ref

// findReachability follows the parentRefs that attach and the backendRefs that are allowed. A route with a Host names
// no parents: there it follows the paths that requests take.
func findReachability(
	routes []*gateway.Route, grants grant.Grants, facts *gateway.AttachmentStatus, traffic []*lower.BackendTraffic,
) reachability {
	r := reachability{}
	for _, s := range traffic {
		for _, w := range s.Paths {
			for _, t := range w.Targets() {
				r.addGateway(t, w.Gateway)
			}
		}
	}
	for _, route := range routes {
		for _, p := range facts.Parents[route.Ref()] {
			if p.Refused != nil || p.Foreign {
				continue
			}
			for _, target := range listTargets(route, grants) {
				r.addGateway(target, p.Gateway)
			}
		}
	}
	return r
}

// listTargets lists the possible targets of policies behind a route: the route, its rules, and the backends that it may
// refer to. A Service of another namespace that no grant allows is none.
func listTargets(route *gateway.Route, grants grant.Grants) []object.TargetRef {
	self := object.Ref{Kind: route.Kind, Namespace: route.Namespace, Name: route.Name}
	all := []object.TargetRef{{Ref: self}}
	for _, rule := range route.Value.Spec.Rules {
		if rule.Name != nil {
			all = append(all, object.TargetRef{Ref: self, Section: string(*rule.Name)})
		}
		for _, ref := range rule.BackendRefs {
			to := object.Ref{
				Kind: stringOr(ref.Kind, object.KindService), Namespace: stringOr(ref.Namespace, route.Namespace),
				Name: string(ref.Name),
			}
			if to.Kind != object.KindService && to.Kind != object.KindXBackend {
				continue
			}
			if grants.Allow(grant.From{Kind: route.Kind, Namespace: route.Namespace}, grant.To(to)) {
				all = append(all, object.TargetRef{Ref: to})
			}
		}
	}
	return all
}

func (r reachability) addGateway(to object.TargetRef, parent object.Ref) {
	if !slices.Contains(r[to], parent) {
		r[to] = append(r[to], parent)
	}
}

// newLoadBalancerAffected is the condition for a route on a Gateway: the LoadBalancerPolicies attached to it, its rules
// and its Services that are accepted.
func (b *builder) newLoadBalancerAffected(route *gateway.Route, on object.Ref) []metav1.Condition {
	targets := listTargets(route, b.grants)
	for _, t := range b.trafficAt[trafficKey{route.Ref(), on}] {
		targets = append(targets, t.Backend) // a port, by its name
	}
	var by []string
	for _, t := range targets {
		for _, p := range b.loadBalancersAt[t] {
			if !b.Decisions.AncestorLimit.Reached(p, on) {
				by = append(by, p.String())
			}
		}
	}
	slices.Sort(by)
	return newAffected(v1alpha1.ConditionLoadBalancerPolicyAffected, slices.Compact(by))
}

// indexLoadBalancers gives the LoadBalancerPolicies that hold on each target.
func (b *builder) indexLoadBalancers() map[object.TargetRef][]object.Ref {
	at := map[object.TargetRef][]object.Ref{}
	for _, p := range b.Objects.LoadBalancers {
		problems := b.problems[p.Ref()]
		for i, t := range resource.LoadBalancerTargets(p) {
			refused := slices.ContainsFunc(problems, func(p report.Problem) bool {
				return p.Place.IsIn(report.TargetRefs, i) && p.Verdict() == report.Refused
			})
			if !refused {
				at[t] = append(at[t], p.Ref())
			}
		}
	}
	return at
}
