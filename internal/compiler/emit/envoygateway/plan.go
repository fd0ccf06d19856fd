package envoygateway

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/policy-config"
)

// sessionRule is a rule of a route that has sessions, on every listener that it is attached to.
type sessionRule struct {
	route *gateway.Route
	index int
	// attached has the decision for each listener.
	attached []lower.AttachedRule
	// refs are the backends, in the order of the rule.
	refs []backendRef
	// perBackendClusters says that every backendRef has a cluster of its own, among which the weights choose first.
	perBackendClusters bool
	// policies are the filter's, by Envoy Gateway's names of routes and clusters.
	policies []policyconfig.Policy
}

// backendRef is a backendRef.
type backendRef struct {
	backend  *backend.Backend // nil if it leads nowhere
	weight   int32
	filtered bool // has filters of its own
}

// path leads to the rule.
func (r *sessionRule) path() *field.Path { return field.NewPath("spec", "rules").Index(r.index) }

// countLive is how many backendRefs take requests that belong to no session.
func (r *sessionRule) countLive() int {
	n := 0
	for _, ref := range r.refs {
		if ref.weight > 0 {
			n++
		}
	}
	return n
}

// listClusters are the rule's clusters.
func (r *sessionRule) listClusters() []string {
	if !r.perBackendClusters {
		return []string{clusterName(r.route, r.index)}
	}
	var names []string
	for i, ref := range r.refs {
		if ref.weight > 0 {
			names = append(names, backendName(r.route, r.index, i))
		}
	}
	return names
}

// planRules finds the rules with sessions that Envoy Gateway can carry.
func (e *emitter) planRules() {
	type where struct {
		route *gateway.Route
		index int
	}
	found := map[where]*sessionRule{}
	for _, p := range lower.AttachedRules(e.Ports, e.Decisions) {
		at := where{p.Route, p.Index}
		if found[at] == nil {
			found[at] = &sessionRule{route: p.Route, index: p.Index}
			e.rules = append(e.rules, found[at])
		}
		found[at].attached = append(found[at].attached, p)
	}
	e.rules = slices.DeleteFunc(e.rules, func(r *sessionRule) bool { return !e.supports(r) })
	slices.SortFunc(e.rules, func(a, b *sessionRule) int {
		return cmp.Or(cmp.Compare(a.route.Namespace, b.route.Namespace), cmp.Compare(a.route.Kind, b.route.Kind),
			cmp.Compare(a.route.Name, b.route.Name), cmp.Compare(a.index, b.index))
	})
}

// supports settles what becomes of a rule; false if it has no session, or can't have it here.
func (e *emitter) supports(r *sessionRule) bool {
	if !slices.ContainsFunc(r.attached, hasSessions) {
		return false
	}
	e.resolveBackends(r)
	if path, why := e.findObstacle(r); why != "" {
		e.rep.NotSupportedBy(r.route, targetName, path, why+": the rule goes without sessions")
		return false
	}
	if len(r.refs) > 0 && r.countLive() == 0 {
		e.rep.NotSupportedBy(r.route, targetName, r.path().Child("backendRefs").String(),
			"all weights are 0, and then Envoy Gateway answers 500 to requests of sessions too")
	}
	r.renamePolicies()
	if r.failsWithHost() && r.hasRetriable() {
		e.rep.NotSupportedBy(r.route, targetName, r.path().String(), "where a part of the split has onHostLost Fail, the others' "+
			"requests are not tried again on another host either: one that is refused gets 503")
	}
	return true
}

func hasSessions(p lower.AttachedRule) bool { return !p.Rule.Refused && len(p.Rule.Sessions) > 0 }

// resolveBackends notes the rule's backendRefs, and whether each has a cluster of its own: it has where one of them has filters.
// Sessions of single backends want that, so the route gets such filters then.
func (e *emitter) resolveBackends(r *sessionRule) {
	filtered := false
	for i, spec := range r.route.Value.Spec.Rules[r.index].BackendRefs {
		b, _ := e.Backends.Resolve(r.route, r.path().Child("backendRefs").Index(i), spec.BackendRef)
		weight := int32(1)
		if spec.Weight != nil {
			weight = *spec.Weight
		}
		one := backendRef{backend: b, weight: weight, filtered: e.hasFilters(r, i)}
		filtered = filtered || one.filtered && weight > 0
		r.refs = append(r.refs, one)
	}
	r.perBackendClusters = filtered || r.hasPerBackendSessions() && r.countLive() > 1
}

// hasPerBackendSessions reports whether backends have sessions of their own.
func (r *sessionRule) hasPerBackendSessions() bool {
	return slices.ContainsFunc(r.attached, func(p lower.AttachedRule) bool { return hasSessions(p) && p.Rule.PerBackend })
}

// hasFilters tells whether a backendRef has filters; those of a GRPCRoute are known from its document alone.
func (e *emitter) hasFilters(r *sessionRule, ref int) bool {
	rules := listObjects(childObject(editDocument(e, r.route), "spec"), "rules")
	refs := listObjects(rules[r.index], "backendRefs")
	return len(listObjects(refs[ref], "filters")) > 0
}

// findObstacle says why a rule can't have its sessions, and where.
func (e *emitter) findObstacle(r *sessionRule) (path, why string) {
	if name := e.findOtherExtension(r); name != "" {
		return "", "its EnvoyExtensionPolicy " + name + " leaves no room for limpet's: Envoy Gateway takes one for each route"
	}
	if r.perBackendClusters && !r.hasPerBackendSessions() && len(r.refs) > 1 {
		return r.path().Child("backendRefs").String(), "with filters on its backendRefs Envoy Gateway chooses by weight before it looks for the session's host"
	}
	if kind := e.findFullFilter(r); kind != "" {
		return r.path().Child("filters").String(), "its " + kind + " removes as many headers as one can, and the internal header has to be removed too"
	}
	return r.findNameClash()
}

// findNameClash looks for two listeners on which one hostname has different sessions: Envoy Gateway's routes have one name.
func (r *sessionRule) findNameClash() (path, why string) {
	owners := map[string]lower.AttachedRule{}
	for _, p := range r.attached {
		for _, name := range r.listRouteNames(p) {
			if first, taken := owners[name]; taken && first.Rule != p.Rule {
				return r.path().String(), fmt.Sprintf("listeners %s and %s ask for different sessions, and its routes have the name %s on both",
					first.Listener.Key(), p.Listener.Key(), name)
			}
			owners[name] = p
		}
	}
	return "", ""
}

// listRouteNames are those of Envoy's routes for the rule on one listener.
func (r *sessionRule) listRouteNames(p lower.AttachedRule) []string {
	var names []string
	for m := range p.Rule.Routes {
		names = append(names, r.listMatchRouteNames(p, m)...)
	}
	return names
}

// listMatchRouteNames are those for one match. A rule of a GRPCRoute may have none, which Envoy Gateway counts as -1.
func (r *sessionRule) listMatchRouteNames(p lower.AttachedRule, match int) []string {
	if r.isGRPC() && len(r.route.Value.Spec.Rules[r.index].Matches) == 0 {
		match = -1
	}
	var names []string
	for _, host := range p.Listener.Hostnames(r.route) {
		names = append(names, routeName(r.route, r.index, match, host))
	}
	return names
}

// renamePolicies gives the filter's policies the names of Envoy Gateway's routes and clusters.
func (r *sessionRule) renamePolicies() {
	at := map[string]int{} // policies by their names
	for _, p := range r.attached {
		if !hasSessions(p) {
			continue
		}
		for _, s := range p.Rule.Sessions {
			clusters, serves := r.listSessionClusters(s)
			for _, one := range s.Policies {
				if !serves {
					continue
				}
				i, known := at[one.Name]
				if !known {
					i = len(r.policies)
					at[one.Name] = i
					renamed := one
					renamed.Routes, renamed.Clusters = nil, clusters
					r.policies = append(r.policies, renamed)
				}
				r.policies[i].Routes = mergeNames(r.policies[i].Routes, r.listPolicyRoutes(p, one))
			}
		}
	}
}

// listPolicyRoutes are Envoy's routes that a policy holds for on a listener.
func (r *sessionRule) listPolicyRoutes(p lower.AttachedRule, one policyconfig.Policy) []string {
	var names []string
	for m, route := range p.Rule.Routes {
		if slices.Contains(one.Routes, route) {
			names = append(names, r.listMatchRouteNames(p, m)...)
		}
	}
	return names
}

// listSessionClusters are those that a session is restricted to, none for all; false if no request gets there.
func (r *sessionRule) listSessionClusters(s *policy.Session) ([]string, bool) {
	if s.Backend == nil {
		return nil, true
	}
	var names []string
	for i, ref := range r.refs {
		if ref.backend == s.Backend && ref.weight > 0 {
			names = append(names, backendName(r.route, r.index, i))
		}
	}
	if !r.perBackendClusters {
		return nil, len(names) > 0
	}
	return names, len(names) > 0
}

// failsWithHost reports whether sessions of the rule fail with their host. Then no request of it is tried again on another
// host, for Envoy drops the pin on a retry.
func (r *sessionRule) failsWithHost() bool {
	return slices.ContainsFunc(r.policies, func(p policyconfig.Policy) bool { return p.OnHostLost == policyconfig.Fail })
}

// hasRetriable reports whether some move to another host.
func (r *sessionRule) hasRetriable() bool {
	return slices.ContainsFunc(r.policies, func(p policyconfig.Policy) bool { return p.OnHostLost != policyconfig.Fail })
}

// isGRPC reports whether the rule is of a GRPCRoute, for which Envoy Gateway has no session persistence.
func (r *sessionRule) isGRPC() bool { return r.route.Kind == "GRPCRoute" }

func mergeNames(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func comparePolicies(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) }
