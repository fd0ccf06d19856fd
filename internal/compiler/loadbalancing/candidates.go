package loadbalancing

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Candidate is a policy that may be effective for a rule's use of a backend, and the place it is attached to.
type Candidate struct {
	*Policy
	// Location is where it stands, such as "on the route".
	Location string
	// Overridden says that another policy has its place, Crowded that its status has no room for the Gateway (S63).
	Overridden, AncestorLimit bool
}

// Candidates gives the policies for a rule's use of a Service's port, strongest first: what stands in the rule, is attached
// to it, to its route, to the port by its name, to the Service (S53). Crowded tells those that have no effect there for
// want of room. The first that has not lost holds.
func (p *Policies) Candidates(route *gateway.Route, rule int, service object.TargetRef, atLimit func(object.Ref) bool) []Candidate {
	var all []Candidate
	if own := p.inline[inlineKey{route.Kind, route.Key(), rule}]; own != nil {
		all = append(all, Candidate{Policy: own, Location: "inline in the route"})
	}
	if len(p.byTarget) == 0 {
		return all
	}
	add := func(t object.TargetRef, location string) {
		for i, policy := range p.byTarget[t] {
			all = append(all, Candidate{Policy: policy, Location: location, Overridden: i > 0, AncestorLimit: atLimit(policy.Object)})
		}
	}
	self := route.Origin().Ref
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		add(object.TargetRef{Ref: self, Section: string(*name)}, "on the rule")
	}
	add(object.TargetRef{Ref: self}, "on the route")
	if service.Section != "" {
		add(service, "on the Service's port")
	}
	add(object.TargetRef{Ref: service.Ref}, "on the Service")
	return all
}

// findEffective gives the candidate that holds, nil if none does.
func findEffective(candidates []Candidate) *Policy {
	for _, c := range candidates {
		if !c.Overridden && !c.AncestorLimit {
			return c.Policy
		}
	}
	return nil
}
