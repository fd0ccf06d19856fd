package istio

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

func isVirtual(rule *ir.Rule) bool { return rule.Route.Kind == object.KindVirtualService }

// matchNames are the names of Istio's routes for each match of a rule, with those of its copies.
func matchNames(rule *ir.AttachedRule) [][]string {
	all := make([][]string, rule.CountMatches())
	add := func(as *ir.Rule) {
		for m, name := range routeNames(as) {
			all[m] = append(all[m], name)
		}
	}
	add(rule.Rule)
	if isSplit(rule) && isVirtual(rule.Rule) {
		for _, b := range rule.DistinctBackends() {
			as := *rule.Rule
			as.Name = copyName(rule.Rule, b)
			add(&as)
		}
	}
	return all
}

// takesCopies tells whether a rule can have the copies that one session over its backends needs. If not, it goes
// without sessions, and is told.
func (e *emitter) takesCopies(rule *ir.AttachedRule) bool {
	if rule.Sessions.PerBackend {
		return true
	}
	if why := e.explainUnequalRefs(rule); why != "" {
		e.withhold(rule, rulePath(rule), why)
		return false
	}
	return !isSplit(rule) || e.copiesFit(rule)
}

// mayAddCopies tells whether a split's VirtualService is no other owner's, whose copies would go with each of our
// manifests.
func (e *emitter) mayAddCopies(rule *ir.AttachedRule) bool {
	may := e.plan.MayAddTo(&rule.Route.Object, e.Owner, e.rep)
	if !may {
		e.withhold(rule, rulePath(rule), ir.WhyTaken(rule.Route.Ref))
	}
	return may
}

// hasMatches tells whether one of a split's matches is on the Gateways of a set of proxies. If not, no request meets
// the rule there, and it needs neither sessions nor copies.
func (e *emitter) hasMatches(rule *ir.AttachedRule) bool {
	spec := childOf(e.parse(&rule.Route.Object), "spec")
	if newHTTPCopy(
		e.newLed(rule),
		rule.DistinctBackends()[0],
		entriesOf(spec, "http")[rule.Index],
		spec["gateways"],
	) != nil {
		return true
	}
	e.reportRule(
		rule,
		".match",
		fmt.Sprintf("sessions at %s, for no match is on that Gateway", rule.Listener.Gateway.Subject),
	)
	return false
}

// explainUnequalRefs says which of a rule's references differ that lead to one backend.
func (e *emitter) explainUnequalRefs(rule *ir.AttachedRule) string {
	if len(rule.Backends) < 2 {
		return ""
	}
	whole := e.parse(&rule.Route.Object)
	if isVirtual(rule.Rule) {
		return rule.ExplainUnequalRefs(entriesOf(childOf(whole, "spec"), "http")[rule.Index], "route")
	}
	return rule.ExplainUnequalRefs(findRule(whole, rule.Rule), "backendRefs")
}

// copiesFit tells whether a split has room for its copies. If not, it goes without sessions, and is told.
func (e *emitter) copiesFit(rule *ir.AttachedRule) bool {
	if n := len(rule.DistinctBackends()); n > policyconfig.MaxLeads {
		e.withhold(
			rule,
			rulePath(rule),
			fmt.Sprintf("one session over %d backends; there is room for %d", n, policyconfig.MaxLeads),
		)
		return false
	}
	if isVirtual(rule.Rule) {
		return e.hasMatches(rule) && e.mayAddCopies(rule)
	}
	whole := e.parse(&rule.Route.Object)
	if parents, _ := e.listParents(e.newLed(rule), whole); len(parents) == 0 {
		e.withhold(rule, rulePath(rule), "none of its route's parents is known to be "+rule.Listener.Gateway.Subject.String()+
			", and a copy of the rule, which leads sessions to their backend, may be on no other")
		return false
	}
	if !ir.TakesHeader(findRule(whole, rule.Rule)) {
		e.withhold(
			rule,
			rulePath(rule),
			"a match has 16 headers, and there is no room for the one by which sessions find their backend",
		)
		return false
	}
	for _, b := range rule.DistinctBackends() {
		ref := object.Ref{Kind: rule.Route.Kind, Namespace: rule.Route.Namespace, Name: copyName(rule.Rule, b)}
		for _, name := range []string{ref.Name, routeNames(rule.Rule)[0]} {
			if len(name) > validation.DNS1123SubdomainMaxLength {
				e.withhold(rule, rulePath(rule), "the name of its copy for each backend would be too long: "+name)
				return false
			}
		}
		if !e.plan.MayWrite(ref, e.Owner, e.rep) {
			e.withhold(rule, rulePath(rule), ir.WhyTaken(ref))
			return false
		}
	}
	return true
}
