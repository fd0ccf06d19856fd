package follow

import (
	"maps"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// ancestorLimits says which policies have no effect on which Gateways, for want of room in their status (S63). That
// depends on all groups.
type ancestorLimits struct {
	// reach counts the groups in which requests come from a Gateway to a policy's targets.
	reach map[object.Ref]map[object.Ref]reaching
	// reached are the Gateways on which policies have no effect, and reports say so.
	reached map[object.Ref]map[object.Ref]bool
	reports map[object.Ref]*report.Report
	// changed are the policies of which this may not be as it was.
	changed map[object.Ref]bool
}

// reaching counts groups, and those of them in which a route or the Gateway is of the policy's namespace.
type reaching struct{ groups, own int }

func newAncestorLimits() *ancestorLimits {
	return &ancestorLimits{
		reach: map[object.Ref]map[object.Ref]reaching{}, reached: map[object.Ref]map[object.Ref]bool{},
		reports: map[object.Ref]*report.Report{}, changed: map[object.Ref]bool{},
	}
}

// count counts what a group reaches in or out.
func (r *ancestorLimits) count(reach ancestors.Reach, by int) {
	for policy, gateways := range reach {
		r.changed[policy] = true
		if r.reach[policy] == nil {
			r.reach[policy] = map[object.Ref]reaching{}
		}
		for g, own := range gateways {
			n := r.reach[policy][g]
			if n.groups += by; own {
				n.own += by
			}
			if r.reach[policy][g] = n; n.groups == 0 {
				delete(r.reach[policy], g)
			}
		}
		if len(r.reach[policy]) == 0 {
			delete(r.reach, policy)
		}
	}
}

// changeAll is for other Gateways, and for policies that the base has.
func (r *ancestorLimits) changeAll() {
	for policy := range r.reach {
		r.changed[policy] = true
	}
}

// updateAncestorLimits brings the limits of policies up to date, and marks the routes of groups in which others hold
// now.
func (s *State) updateAncestorLimits(pending map[object.Ref]bool) {
	r, others := s.ancestorLimits, map[object.Ref]bool{}
	for ref := range r.changed {
		without := s.listOverLimit(ref)
		s.tellWithout(ref, without)
		if now := ancestors.NewSet(without); !maps.Equal(now, r.reached[ref]) {
			others[ref] = true
			for _, some := range []map[object.Ref]bool{r.reached[ref], now} {
				for g := range some {
					s.statuses.mark(g)
				}
			}
			if r.reached[ref] = now; len(now) == 0 {
				delete(r.reached, ref)
			}
		}
	}
	r.changed = map[object.Ref]bool{}
	if len(others) == 0 {
		return
	}
	for g := range s.groups.all {
		for ref := range g.part.reach {
			if others[ref] {
				pending[g.routes[0]] = true
			}
		}
	}
}

// listOverLimit lists the Gateways on which a policy has no effect.
func (s *State) listOverLimit(ref object.Ref) []object.Ref {
	gateways := make(map[object.Ref]bool, len(s.ancestorLimits.reach[ref]))
	for g, n := range s.ancestorLimits.reach[ref] {
		gateways[g] = n.own > 0
	}
	taken := s.attached[s.objects.policies[ref]].taken + s.base.streams.taken[ref] // of session policies, and of others
	return ancestors.ListOverLimit(s.objects.context.Gateways, s.listening.Order, gateways, taken)
}

// tellWithout says of a policy on which Gateways it has no effect.
func (s *State) tellWithout(ref object.Ref, without []object.Ref) {
	s.reported.count(s.ancestorLimits.reports[ref], -1)
	delete(s.ancestorLimits.reports, ref)
	if len(without) == 0 {
		return
	}
	rep := &report.Report{}
	ancestors.Tell(s.findPolicy(ref), without, rep)
	s.ancestorLimits.reports[ref] = rep
	s.reported.count(rep, 1)
}

// findPolicy gives a policy by its name.
func (s *State) findPolicy(ref object.Ref) report.Subject {
	context := s.objects.context
	all := resource.Objects{LoadBalancers: context.LoadBalancers, TrafficPolicies: context.TrafficPolicies}
	if p := s.objects.policies[ref]; p != nil {
		all.SessionPolicies = []*sessionPolicy{p}
	}
	return ancestors.ListPolicies(&all)[ref]
}
