package loadbalancing

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
)

// Candidate is a policy with a word on a rule's use of a backend, and the place that gives it the word.
type Candidate struct {
	*Policy
	// Place is where it stands, such as "on the route".
	Place string
	// Lost says that another policy has its place, Crowded that its status has no room for the Gateway (S63).
	Lost, Crowded bool
}

// Candidates gives the policies for a rule's use of a Service, by its namespace/name, strongest first: what stands in
// the rule, is attached to it, to its route, to the Service (S53). Crowded tells those that have no effect there for
// want of room. The first that has not lost holds.
func (p *Policies) Candidates(route *gateway.Route, rule int, service ladder.Object, crowded func(ladder.Object) bool) []Candidate {
	var all []Candidate
	if own := p.inline[inline{route.Kind, route.Key(), rule}]; own != nil {
		all = append(all, Candidate{Policy: own, Place: "inline in the route"})
	}
	if len(p.held) == 0 {
		return all
	}
	add := func(t ladder.Target, place string) {
		for i, policy := range p.held[t] {
			all = append(all, Candidate{Policy: policy, Place: place, Lost: i > 0, Crowded: crowded(policy.Object)})
		}
	}
	self := route.Source().Object
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		add(ladder.Target{Object: self, Section: string(*name)}, "on the rule")
	}
	add(ladder.Target{Object: self}, "on the route")
	add(ladder.Target{Object: service}, "on the Service")
	return all
}

// holding gives the candidate that holds, nil if none does.
func holding(candidates []Candidate) *Policy {
	for _, c := range candidates {
		if !c.Lost && !c.Crowded {
			return c.Policy
		}
	}
	return nil
}
