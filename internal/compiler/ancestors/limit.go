// Package ancestors finds the Gateways on which a policy has no effect because its status can't list another ancestor.
// The limit is GEP-713's and the same for policies of every kind (docs/semantics.md, S63).
package ancestors

import (
	"fmt"
	"iter"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Limit says on which Gateways which policies have no effect. A nil Limit is one that no policy has reached.
type Limit struct {
	reached  map[object.Ref]map[object.Ref]bool // Gateways, by policy
	attached map[object.TargetRef][]Attachment  // those of policies that have an effect on the target
}

// Attachment is one target of a policy of any kind.
type Attachment struct {
	Policy object.Ref
	Target object.TargetRef
	// Class is the GatewayClass behind whose Gateways alone the policy holds; empty for all.
	Class string
	// Refused says that the policy has no effect on the target. Its status then has an ancestor for the target itself.
	Refused bool
}

// isOwnAncestor reports whether the policy's status has an ancestor for the target itself, not for the Gateways from
// which requests come to it: one on which the policy has no effect, or a GatewayClass, of which there is one for all of
// them.
func (a Attachment) isOwnAncestor() bool {
	return a.Refused || a.Target.Kind == object.KindGatewayClass
}

// Input is what policies are attached to, and where requests go.
type Input struct {
	Objects *resource.Objects
	// Attachments are all targets of all policies.
	Attachments iter.Seq[Attachment]
	// Order says which of two Gateways was there first.
	Order *seniority.Order
	// Paths are those that requests take. They are asked for only if a policy may reach the limit.
	Paths iter.Seq[precedence.TrafficPath]
}

// Reach has for each policy the Gateways from which requests come to its targets, and whether a route or the Gateway is
// of the policy's namespace. One for a GatewayClass has the class for its ancestor, and so can list all Gateways:
// it is not in it.
type Reach map[object.Ref]map[object.Ref]bool

// Find finds where policies reach the limit, and reports it.
func Find(in Input, rep *report.Report) *Limit {
	taken, most := CountTaken(in), 0
	for _, n := range taken {
		most = max(most, n)
	}
	if most+len(in.Objects.Gateways) <= v1alpha1.MaxAncestors {
		return nil
	}
	reached, subjects := map[object.Ref]map[object.Ref]bool{}, ListPolicies(in.Objects)
	for policy, gateways := range FindReach(in) {
		if without := ListOverLimit(in.Objects.Gateways, in.Order, gateways, taken[policy]); len(without) > 0 {
			reached[policy] = NewSet(without)
			Tell(subjects[policy], without, rep)
		}
	}
	return NewLimit(in, reached)
}

// Tell reports the Gateways on which a policy has no effect.
func Tell(policy report.Subject, without []object.Ref, rep *report.Report) {
	end := ""
	if hasOverride(policy) {
		end = "; where its override would hold there, rules go without sessions"
	}
	for _, g := range without {
		rep.WarnForAt(report.TooManyAncestors, policy, report.ReasonPartiallyProgrammed, "spec.targetRefs",
			fmt.Sprintf("its status has no room for another ancestor: the policy has no effect on %s%s", g, end))
	}
}

// hasOverride reports whether a policy is one that others' routes may not do without.
func hasOverride(policy report.Subject) bool {
	p, is := policy.(*resource.Object[v1alpha1.SessionPersistencePolicy])
	if !is {
		return false
	}
	s := p.Value.Spec.Strategy
	return p.Value.Spec.Override != nil || s != nil && s.IsOverride()
}

// NewSet gives a list as a set.
func NewSet(refs []object.Ref) map[object.Ref]bool {
	set := map[object.Ref]bool{}
	for _, ref := range refs {
		set[ref] = true
	}
	return set
}

// NewLimit is the limit where it is known which policies have reached it, on which Gateways.
func NewLimit(in Input, reached map[object.Ref]map[object.Ref]bool) *Limit {
	if len(reached) == 0 {
		return nil
	}
	attached, _ := in.index()
	return &Limit{reached: reached, attached: attached}
}

// index gives the attachments that have an effect by their targets, and the policies whose one ancestor is a
// GatewayClass.
func (in Input) index() (attached map[object.TargetRef][]Attachment, classes map[object.Ref]bool) {
	attached, classes = map[object.TargetRef][]Attachment{}, map[object.Ref]bool{}
	for a := range in.Attachments {
		if !a.isOwnAncestor() {
			attached[a.Target] = append(attached[a.Target], a)
		}
		if !a.Refused && a.Target.Kind == object.KindGatewayClass {
			classes[a.Policy] = true
		}
	}
	return attached, classes
}

// FindReach finds which Gateways' requests come to the targets of policies.
func FindReach(in Input) Reach {
	attached, classes := in.index()
	if len(attached) == 0 {
		return nil
	}
	reach := Reach{}
	for path := range in.Paths {
		for _, target := range path.Targets() {
			for _, a := range attached[target] {
				if classes[a.Policy] || !path.IsOfClass(a.Class) {
					continue
				}
				if reach[a.Policy] == nil {
					reach[a.Policy] = map[object.Ref]bool{}
				}
				own := path.Route.Namespace == a.Policy.Namespace || path.Gateway.Namespace == a.Policy.Namespace
				reach[a.Policy][path.Gateway] = reach[a.Policy][path.Gateway] || own
			}
		}
	}
	return reach
}

// ListOverLimit gives those of a policy's Gateways that do not fit into its status besides the
// ancestors that it has otherwise. The Gateways say whether they are the policy's own. Those that routes of its own
// namespace lead through go first, for no other namespace can make the policy leave those, and of these the ones that
// were there first.
func ListOverLimit(
	all []*resource.Object[gatewayv1.Gateway], order *seniority.Order, gateways map[object.Ref]bool, taken int,
) (without []object.Ref) {
	free := max(v1alpha1.MaxAncestors-taken, 0)
	if len(gateways) <= free {
		return nil
	}
	var origins []object.Origin
	for _, g := range all {
		origin := g.Origin()
		if _, leads := gateways[origin.Ref]; leads {
			origins = append(origins, origin)
		}
	}
	if len(origins) <= free {
		return nil
	}
	slices.SortStableFunc(origins, func(a, b object.Origin) int {
		if own := gateways[a.Ref]; own != gateways[b.Ref] {
			if own {
				return -1
			}
			return 1
		}
		return order.Compare(a, b)
	})
	for _, origin := range origins[free:] {
		without = append(without, origin.Ref)
	}
	return without
}

// Reached reports whether a policy has no effect on a Gateway.
func (l *Limit) Reached(policy, gateway object.Ref) bool {
	return l != nil && l.reached[policy][gateway]
}

// PoliciesWithout gives the policies that have no effect on a Gateway, by kind and name.
func (l *Limit) PoliciesWithout(gateway object.Ref) (policies []object.Ref) {
	if l == nil {
		return nil
	}
	for policy, gateways := range l.reached {
		if gateways[gateway] {
			policies = append(policies, policy)
		}
	}
	slices.SortFunc(policies, compareRefs)
	return policies
}

// PoliciesOff gives the policies that are attached to what requests meet on a path and have no effect on its Gateway.
func (l *Limit) PoliciesOff(path precedence.TrafficPath) (policies []object.Ref) {
	if l == nil {
		return nil
	}
	for _, target := range path.Targets() {
		for _, a := range l.attached[target] {
			if l.Reached(a.Policy, path.Gateway) {
				policies = append(policies, a.Policy)
			}
		}
	}
	return policies
}
