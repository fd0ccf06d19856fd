// Package ancestors finds the Gateways on which a policy has no effect because its status can't list another ancestor. The
// limit is GEP-713's and the same for policies of every kind (docs/semantics.md, S63).
package ancestors

import (
	"fmt"
	"iter"
	"slices"

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
	classes  map[object.Ref]bool                // policies whose one ancestor is a GatewayClass
	attached map[object.TargetRef][]Attachment  // those of policies that have an effect on the target
}

// Attachment is one target of a policy of any kind.
type Attachment struct {
	Policy object.Ref
	Target object.TargetRef
	// Refused says that the policy has no effect on the target. Its status then has an ancestor for the target itself.
	Refused bool
}

// isOwnAncestor reports whether the policy's status has an ancestor for the target itself, not for the Gateways from which
// requests come to it: one on which the policy has no effect, or a GatewayClass, of which there is one for all of them.
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

// Find finds where policies reach the limit, and reports it. Gateways that routes of the policy's own namespace lead through go
// first, for no other namespace can make the policy leave those, and of these the ones that were there first. It also gives the most
// ancestors that a policy's status has besides those Gateways.
func Find(in Input, rep *report.Report) (limit *Limit, most int) {
	taken := countTaken(in)
	for _, n := range taken {
		most = max(most, n)
	}
	if !MayReach(most, len(in.Objects.Gateways)) {
		return nil, most
	}
	l := &Limit{
		reached: map[object.Ref]map[object.Ref]bool{}, classes: map[object.Ref]bool{}, attached: map[object.TargetRef][]Attachment{},
	}
	for a := range in.Attachments {
		if !a.isOwnAncestor() {
			l.attached[a.Target] = append(l.attached[a.Target], a)
		}
		l.classes[a.Policy] = l.classes[a.Policy] || !a.Refused && a.Target.Kind == object.KindGatewayClass
	}
	subjects := listPolicies(in.Objects)
	for policy, gateways := range l.findGateways(in.Paths) {
		for _, g := range in.findWithoutRoom(gateways, v1alpha1.MaxAncestors-taken[policy]) {
			l.add(policy, g)
			rep.WarnForAt(subjects[policy], report.ReasonPartiallyProgrammed, "spec.targetRefs",
				fmt.Sprintf("its status has no room for another ancestor: the policy has no effect on %s; "+
					"where its override would hold there, rules go without sessions", g))
		}
	}
	if len(l.reached) == 0 {
		return nil, most
	}
	return l, most
}

// MayReach reports whether the status of a policy may have too little room for all Gateways besides other ancestors.
func MayReach(others, gateways int) bool { return others+gateways > v1alpha1.MaxAncestors }

func (l *Limit) add(policy, gateway object.Ref) {
	if l.reached[policy] == nil {
		l.reached[policy] = map[object.Ref]bool{}
	}
	l.reached[policy][gateway] = true
}

// findGateways gives, for each policy, the Gateways from which requests come to its targets, and whether a route or the Gateway
// is of the policy's namespace. One for a GatewayClass has the
// class for its ancestor, and so has room for all Gateways.
func (l *Limit) findGateways(paths iter.Seq[precedence.TrafficPath]) map[object.Ref]map[object.Ref]bool {
	found := map[object.Ref]map[object.Ref]bool{}
	for path := range paths {
		for _, target := range path.Targets() {
			for _, a := range l.attached[target] {
				if l.classes[a.Policy] {
					continue
				}
				if found[a.Policy] == nil {
					found[a.Policy] = map[object.Ref]bool{}
				}
				own := path.Route.Namespace == a.Policy.Namespace || path.Gateway.Namespace == a.Policy.Namespace
				found[a.Policy][path.Gateway] = found[a.Policy][path.Gateway] || own
			}
		}
	}
	return found
}

// findWithoutRoom gives those of a policy's Gateways that come after the ones that its status has room for. The Gateways say
// whether they are the policy's own.
func (in Input) findWithoutRoom(gateways map[object.Ref]bool, room int) (without []object.Ref) {
	var origins []object.Origin
	for _, g := range in.Objects.Gateways {
		origin := g.Origin()
		if _, leads := gateways[origin.Ref]; leads {
			origins = append(origins, origin)
		}
	}
	if len(origins) <= room {
		return nil
	}
	slices.SortStableFunc(origins, func(a, b object.Origin) int {
		if own := gateways[a.Ref]; own != gateways[b.Ref] {
			if own {
				return -1
			}
			return 1
		}
		return in.Order.Compare(a, b)
	})
	for _, origin := range origins[max(room, 0):] {
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
