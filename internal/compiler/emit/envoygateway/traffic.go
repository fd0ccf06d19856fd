package envoygateway

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// byService is a routingType with which Envoy has a Service's own address in place of its endpoints'.
const byService = "Service"

const noEndpoints = "Envoy sees Services and not their endpoints: no session sticks"

// reportRoutingByService reports BackendTrafficPolicies by which no session of a rule that they may hold for sticks.
func (e *emitter) reportRoutingByService() {
	for _, p := range e.plan.Objects[kindTraffic] {
		spec := childObject(e.editDocument(p), "spec")
		holds := func(r *sessionRule) bool { return r.mayHave(p.Namespace, spec) }
		if stringField(spec, "routingType") == byService && slices.ContainsFunc(e.rules, holds) {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec.routingType", noEndpoints)
		}
	}
}

// mayHave tells whether a policy of a namespace may hold for a rule: by its name, its route or a Gateway. Of Gateways
// that it selects by labels it is taken for granted.
func (r *sessionRule) mayHave(namespace string, spec jsonObject) bool {
	own := namespace == r.Route.Namespace
	for _, ref := range listTargets(spec) {
		name, section := stringField(ref, "name"), stringField(ref, "sectionName")
		isRoute := own && stringField(ref, "kind") == r.Route.Kind && name == r.Route.Name
		isGateway := stringField(ref, "kind") == "Gateway" && r.isOnNamed(namespace, name)
		if isGateway || isRoute && (section == "" || section == r.Name) {
			return true
		}
	}
	return slices.ContainsFunc(listObjects(spec, "targetSelectors"), func(s jsonObject) bool {
		return own && selectsRoute(s, r.Route) || stringField(s, "kind") == "Gateway" && r.isOnNamed(namespace, "")
	})
}

// isOnNamed tells whether the rule has sessions on a namespace's Gateway of a name, or on any of them.
func (r *sessionRule) isOnNamed(namespace, name string) bool {
	return slices.ContainsFunc(r.attached, func(a *ir.AttachedRule) bool {
		g := a.Listener.Gateway
		return g.Namespace == namespace && (name == "" || g.Name == name) && r.isOn(g)
	})
}

// listTargets are the targetRefs of one of Envoy Gateway's policies, with its targetRef, which came before them.
func listTargets(spec jsonObject) []jsonObject {
	refs := listObjects(spec, "targetRefs")
	if one, is := spec["targetRef"].(jsonObject); is {
		refs = append(refs, one)
	}
	return refs
}
