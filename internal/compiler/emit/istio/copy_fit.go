package istio

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
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
	return !isSplit(rule) || e.hasRoom(rule)
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
