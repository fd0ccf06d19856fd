package envoygateway

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// sessionRule is a rule of a route that has sessions, on every listener that it is attached to.
type sessionRule struct {
	*ir.Rule
	// attached has the sessions on each listener.
	attached []*ir.AttachedRule
	// perBackendClusters says that every backendRef has a cluster of its own, among which the weights choose first.
	perBackendClusters bool
	// copies are those of a split, one for each backend; none where the rule has one session for each, or the route no
	// room.
	copies []ruleCopy
	// policies are the filter's, by Envoy Gateway's names of routes and clusters.
	policies []policyconfig.Policy
}

// path leads to the rule.
func (r *sessionRule) path() *field.Path { return field.NewPath("spec", "rules").Index(r.Index) }

// countLive is how many backendRefs take requests that belong to no session.
func (r *sessionRule) countLive() int {
	n := 0
	for _, ref := range r.Backends {
		if ref.Weight > 0 {
			n++
		}
	}
	return n
}

// listClusters are the rule's clusters.
func (r *sessionRule) listClusters() []string {
	if !r.perBackendClusters {
		return []string{clusterName(r.Rule)}
	}
	var names []string
	for i, ref := range r.Backends {
		if ref.Weight > 0 {
			names = append(names, backendName(r.Rule, i))
		}
	}
	for _, c := range r.copies {
		names = append(names, backendName(c.Rule, 0))
	}
	return names
}

// collectRules finds the rules with sessions that Envoy Gateway can carry.
func (e *emitter) collectRules() {
	found := map[*ir.Rule]*sessionRule{}
	for _, a := range e.plan.Rules {
		if found[a.Rule] == nil {
			found[a.Rule] = &sessionRule{Rule: a.Rule}
			e.rules = append(e.rules, found[a.Rule])
		}
		found[a.Rule].attached = append(found[a.Rule].attached, a)
	}
	slices.SortFunc(e.rules, func(a, b *sessionRule) int {
		return cmp.Or(cmp.Compare(a.Route.Namespace, b.Route.Namespace), cmp.Compare(a.Route.Kind, b.Route.Kind),
			cmp.Compare(a.Route.Name, b.Route.Name), cmp.Compare(a.Index, b.Index))
	})
	var supported []*sessionRule
	for _, r := range e.rules {
		if e.supports(r) {
			supported = append(supported, r)
		}
	}
	e.rules = supported
	e.nameBackends()
}

// supports settles what becomes of a rule; false if it has no session, or can't have it here.
func (e *emitter) supports(r *sessionRule) bool {
	if !slices.ContainsFunc(r.attached, func(a *ir.AttachedRule) bool { return a.Sessions.On() }) {
		return false
	}
	led := r.isSplit() && e.copiesFit(r)
	r.perBackendClusters = led || e.hasBackendFilters(r) || r.hasPerBackendSessions() && r.countLive() > 1
	if path, why := e.findObstacle(r, led); why != "" {
		e.plan.Withhold(r.attached, e.rep, targetName, path, why)
		return false
	}
	if led {
		e.planCopies(r)
	} else if r.isSplit() {
		e.reportNoCopies(r)
	}
	if len(r.Backends) > 0 && r.countLive() == 0 {
		e.rep.NotSupportedBy(report.TargetLacks, r.Route.Subject, targetName, r.path().Child("backendRefs").String(),
			"all weights are 0, and then Envoy Gateway answers 500 to requests of sessions too")
	}
	r.renamePolicies()
	if r.failsWithHost() && r.hasRetriable() {
		e.rep.NotSupportedBy(report.TargetLacks, r.Route.Subject, targetName, r.path().String(),
			"where a part of the split has onHostLost Fail, the others' requests are not tried again on another host either: "+
				"one that is refused gets 503")
	}
	return true
}

// reportNoCopies reports what a split lacks that has no copies.
func (e *emitter) reportNoCopies(r *sessionRule) {
	path := r.path().Child("backendRefs").String()
	e.rep.NotSupportedBy(report.TargetLacks, r.Route.Subject, targetName, path, noCopies)
	revokes := func(p ir.SessionPolicy) bool { return len(p.Revocation.Backends) > 0 }
	if slices.ContainsFunc(r.attached, func(a *ir.AttachedRule) bool {
		return a.Sessions.On() && slices.ContainsFunc(a.Sessions.All[0].Policies, revokes)
	}) {
		e.rep.WarnAt(
			report.Revocation,
			r.Route.Subject,
			path,
			"without copies of the rule no token tells which backend its session is in: revocation.backends voids all "+
				"sessions of the rule that began before",
		)
	}
}

// noCopies is what a split lacks whose route is full.
const noCopies = "the route has no room for a copy of the rule for each backend (16 rules and 128 matches, 16 " +
	"headers each), so that sessions stay only while Envoy Gateway gives all backends one cluster: not while one is " +
	"missing or has no ready endpoints, has names for addresses, or while the nearest zone goes first. One whose host " +
	"is lost goes to any backend"

// hasPerBackendSessions reports whether backends have sessions of their own. That wants a cluster for each backendRef,
// so the route gets filters on them then.
func (r *sessionRule) hasPerBackendSessions() bool {
	return slices.ContainsFunc(r.attached, func(a *ir.AttachedRule) bool {
		return a.Sessions.On() && a.Sessions.PerBackend
	})
}

// hasBackendFilters tells whether a backendRef that takes requests has filters, for then every one of the rule has a
// cluster of its own. Those of a GRPCRoute are known from its document alone.
func (e *emitter) hasBackendFilters(r *sessionRule) bool {
	refs := listObjects(e.findRuleDocument(r), "backendRefs")
	for i, ref := range r.Backends {
		if ref.Weight > 0 && len(listObjects(refs[i], "filters")) > 0 {
			return true
		}
	}
	return false
}

// findObstacle says why a rule can't have its sessions, and where.
func (e *emitter) findObstacle(r *sessionRule, led bool) (path, why string) {
	if name := e.findOtherExtension(r); name != "" {
		return r.path().String(),
			"its EnvoyExtensionPolicy " + name + " leaves no room for limpet's: Envoy Gateway takes one for each route"
	}
	if r.perBackendClusters && !led && r.isSplit() {
		return r.path().Child("backendRefs").String(),
			"with filters on its backendRefs Envoy Gateway chooses by weight before it looks for the session's host"
	}
	if led {
		if why := r.ExplainUnequalRefs(e.findRuleDocument(r), "backendRefs"); why != "" {
			return r.path().Child("backendRefs").String(), why
		}
	}
	if kind := e.findFullFilter(r, len(e.listHidden(led))); kind != "" {
		return r.path().Child("filters").String(),
			"its " + kind + " removes as many headers as one can, and the internal header has to be removed too"
	}
	return r.findNameClash()
}

// findNameClash looks for two listeners on which one hostname has different sessions: Envoy Gateway's routes have one
// name.
func (r *sessionRule) findNameClash() (path, why string) {
	owners := map[string]*ir.AttachedRule{}
	for _, a := range r.attached {
		for _, name := range r.listRouteNames(a) {
			if first := owners[name]; first != nil && first.Sessions != a.Sessions {
				return r.path().String(), fmt.Sprintf(
					"listeners %s and %s ask for different sessions, and its routes have the name %s on both",
					first.Listener.Key(), a.Listener.Key(), name)
			}
			owners[name] = a
		}
	}
	return "", ""
}

// listRouteNames are those of Envoy's routes for the rule on one listener, with those of its copies.
func (r *sessionRule) listRouteNames(a *ir.AttachedRule) []string {
	var names []string
	for m := range a.CountMatches() {
		names = append(names, r.listMatchRouteNames(a, m)...)
	}
	return names
}

// listMatchRouteNames are those for one match.
func (r *sessionRule) listMatchRouteNames(a *ir.AttachedRule, match int) []string {
	var names []string
	for _, host := range a.Hostnames {
		names = append(names, routeName(a.Rule, match, host))
		for _, c := range r.copies {
			names = append(names, routeName(c.Rule, match, host))
		}
	}
	return names
}

// renamePolicies gives the filter's policies the names of Envoy Gateway's routes and clusters.
func (r *sessionRule) renamePolicies() {
	at := map[string]int{} // policies by their names
	for _, a := range r.attached {
		if !a.Sessions.On() {
			continue
		}
		for _, s := range a.Sessions.All {
			clusters, serves := r.listSessionClusters(s)
			for _, one := range s.Policies {
				if !serves {
					continue
				}
				i, known := at[one.Name]
				if !known {
					i = len(r.policies)
					at[one.Name] = i
					renamed := one.Policy
					renamed.Clusters = clusters
					if r.copies == nil { // then nothing tells the backends of a split apart
						renamed = ir.Anywhere([]policyconfig.Policy{renamed})[0]
					}
					r.policies = append(r.policies, renamed)
				}
				for _, m := range one.Matches {
					r.policies[i].Routes = mergeNames(r.policies[i].Routes, r.listMatchRouteNames(a, m))
				}
			}
		}
	}
}

// listSessionClusters are those that a session is restricted to, none for all; false if no request gets there.
func (r *sessionRule) listSessionClusters(s *ir.Session) ([]string, bool) {
	if s.Backend == nil {
		return nil, true
	}
	var names []string
	for i, ref := range r.Backends {
		if ref.Backend == s.Backend && ref.Weight > 0 {
			names = append(names, backendName(r.Rule, i))
		}
	}
	if !r.perBackendClusters {
		return nil, len(names) > 0
	}
	return names, len(names) > 0
}

// failsWithHost reports whether sessions of the rule fail with their host. Then no request of it is tried again on
// another host, for Envoy drops the pin on a retry.
func (r *sessionRule) failsWithHost() bool {
	return slices.ContainsFunc(r.policies, func(p policyconfig.Policy) bool { return p.OnHostLost == policyconfig.Fail })
}

// hasRetriable reports whether some move to another host.
func (r *sessionRule) hasRetriable() bool {
	return slices.ContainsFunc(r.policies, func(p policyconfig.Policy) bool { return p.OnHostLost != policyconfig.Fail })
}

// isGRPC reports whether the rule is of a GRPCRoute, for which Envoy Gateway has no session persistence.
func isGRPC(r *ir.Rule) bool { return r.Route.Kind == object.KindGRPCRoute }

// mergeNames sorts two lists of names into one, each name once.
func mergeNames(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func comparePolicies(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) }
