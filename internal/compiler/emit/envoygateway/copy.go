package envoygateway

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// One session over a split: the weights choose the backend of a new session, and its token leads it there from then on.
// For that the rule is in its route once more for each backend, with one match more: a header that the filter sets of
// requests with sessions. A copy carries all that its rule has, and is of the same route, for Envoy Gateway's policies
// attach to routes.

// What Gateway API has room for in a route.
const (
	maxRules   = 16
	maxMatches = 128
)

// leadHeader is the header that copies match.
var leadHeader = policyconfig.BackendHeader(pinHeader)

// ruleCopy is a copy of a rule for one of its backends.
type ruleCopy struct {
	*ir.Rule // as Envoy Gateway sees it: its index is that of the copy
	backend  *ir.Backend
}

// isSplit tells whether the rule's sessions are over several backendRefs.
func (r *sessionRule) isSplit() bool { return len(r.Backends) > 1 && !r.hasPerBackendSessions() }

// copiesFit tells whether copies of a rule fit into its route.
func (e *emitter) copiesFit(r *sessionRule) bool {
	rules := listObjects(childObject(e.editDocument(&r.Route.Object), "spec"), "rules")
	matches := 0
	for _, rule := range rules {
		matches += max(1, len(listObjects(rule, "matches")))
	}
	for _, other := range e.rules {
		if other.Route == r.Route {
			matches += len(other.copies) * other.CountMatches()
		}
	}
	more := len(r.DistinctBackends())
	return ir.TakesHeader(rules[r.Index]) && e.countRules(r.Route)+more <= maxRules &&
		matches+more*r.CountMatches() <= maxMatches
}

// countRules is how many rules a route has, with the copies.
func (e *emitter) countRules(route *ir.RouteObject) int {
	n := len(route.Rules)
	for _, r := range e.rules {
		if r.Route == route {
			n += len(r.copies)
		}
	}
	return n
}

// planCopies gives the rule's copies their places, at the end of the route: the other rules keep theirs.
func (e *emitter) planCopies(r *sessionRule) {
	next := e.countRules(r.Route)
	for _, backend := range r.DistinctBackends() {
		as := *r.Rule
		as.Index, as.MatchNames = next+len(r.copies), make([]string, r.CountMatches())
		r.copies = append(r.copies, ruleCopy{&as, backend})
	}
}

// writeCopies adds a rule's copies to its route.
func (e *emitter) writeCopies(r *sessionRule) {
	rule := e.findRuleDocument(r)
	spec := childObject(e.editDocument(&r.Route.Object), "spec")
	for _, c := range r.copies {
		doc := r.NewCopy(rule, c.backend, leadHeader, r.newLead("", c.backend).Value())
		delete(doc, "name") // a route has each name once
		appendEntry(spec, "rules", doc)
	}
}

// newLead says to which backend a cluster leads.
func (r *sessionRule) newLead(cluster string, backend *ir.Backend) policyconfig.Lead {
	l := policyconfig.Lead{Cluster: cluster, Backend: backend.Tag}
	if r.copies != nil {
		l.Rule = token.BackendTag(clusterName(r.Rule))
	}
	return l
}

// listLeads are the clusters of the rule and of its copies that lead to one backend each.
func (r *sessionRule) listLeads() (leads []string) {
	for i, ref := range r.Backends {
		cluster := clusterName(r.Rule)
		if r.perBackendClusters {
			cluster = backendName(r.Rule, i)
		}
		if ref.Backend != nil && (r.perBackendClusters || len(r.Backends) == 1) {
			leads = append(leads, r.newLead(cluster, ref.Backend).String())
		}
	}
	for _, c := range r.copies {
		leads = append(leads, r.newLead(backendName(c.Rule, 0), c.backend).String())
	}
	return leads
}

// nameBackends has the filter tell the backends of sessions: of splits, and of rules that share sessions with one.
func (e *emitter) nameBackends() {
	shared := map[string]bool{} // scopes
	for _, r := range e.rules {
		for _, p := range r.policies {
			shared[p.Scope] = shared[p.Scope] || r.copies != nil
		}
	}
	for _, r := range e.rules {
		for i := range r.policies {
			if shared[r.policies[i].Scope] {
				r.policies[i].Leads = r.listLeads()
			}
		}
	}
}

// reportMissed reports policies of Envoy Gateway's for a rule by its name: they do not reach its copies. Selectors have
// no names of rules, and reach the copies with their route.
func (e *emitter) reportMissed() {
	for _, p := range e.plan.Objects[kindTraffic] {
		spec := childObject(e.editDocument(p), "spec")
		if one, is := spec["targetRef"].(jsonObject); is {
			e.reportMissedBy(p, one, "spec.targetRef.sectionName")
		}
		for i, ref := range listObjects(spec, "targetRefs") {
			e.reportMissedBy(p, ref, fmt.Sprintf("spec.targetRefs[%d].sectionName", i))
		}
	}
}

// reportMissedBy reports one target of a policy.
func (e *emitter) reportMissedBy(p *ir.Object, ref jsonObject, path string) {
	for _, r := range e.rules {
		if r.copies != nil && r.Name != "" && p.Namespace == r.Route.Namespace && stringField(ref, "kind") == r.Route.Kind &&
			stringField(ref, "name") == r.Route.Name && stringField(ref, "sectionName") == r.Name {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, path,
				"it holds for requests without a session alone: the sessions of the split go through further rules of the route; "+
					"target the whole route")
		}
	}
}
