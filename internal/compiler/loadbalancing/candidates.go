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
	// Overridden says that another policy has its place, AncestorLimit that its status can't list the Gateway (S63).
	Overridden, AncestorLimit bool
	// ofService says that the place is the Service, or a port of it.
	ofService bool
}

// Candidates returns the policies for a rule's use of a Service's port, strongest first: the one that stands in the
// rule, and those attached to the rule, to its route, to the port by name, and to the Service (S53). AncestorLimit
// tells those that have no effect there because of the limit. The first that has not lost holds.
func (p *Policies) Candidates(
	route *gateway.Route,
	rule int,
	service object.TargetRef,
	atLimit func(object.Ref) bool,
) []Candidate {
	var all []Candidate
	if own := p.inline[inlineKey{route.Kind, route.Key(), rule}]; own != nil {
		all = append(all, Candidate{Policy: own, Location: "inline in the route"})
	}
	if len(p.byTarget) == 0 {
		return all
	}
	add := func(t object.TargetRef, location string) { all = p.addCandidates(all, t, location, atLimit) }
	self := route.Ref()
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		add(object.TargetRef{Ref: self, Section: string(*name)}, "on the rule")
	}
	add(object.TargetRef{Ref: self}, "on the route")
	return p.addServiceCandidates(all, service, atLimit)
}

// OfService is the outcome for what leads to a port of a Service without a rule of its own: copies of requests, and
// connections. It is about hosts alone.
func (p *Policies) OfService(service object.TargetRef) Outcome {
	if len(p.byTarget) == 0 {
		return Outcome{}
	}
	all := p.addServiceCandidates(nil, service, func(object.Ref) bool { return false })
	return Outcome{Policy: findEffective(all), Candidates: all}
}

func (p *Policies) addServiceCandidates(
	all []Candidate,
	service object.TargetRef,
	atLimit func(object.Ref) bool,
) []Candidate {
	from := len(all)
	if service.Section != "" {
		all = p.addCandidates(all, service, "on the Service's port", atLimit)
	}
	all = p.addCandidates(all, object.TargetRef{Ref: service.Ref}, "on the Service", atLimit)
	for i := range all[from:] {
		all[from+i].ofService = true
	}
	return all
}

func (p *Policies) addCandidates(
	all []Candidate, t object.TargetRef, location string, atLimit func(object.Ref) bool,
) []Candidate {
	for i, policy := range p.byTarget[t] {
		all = append(
			all,
			Candidate{Policy: policy, Location: location, Overridden: i > 0, AncestorLimit: atLimit(policy.Object)},
		)
	}
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
