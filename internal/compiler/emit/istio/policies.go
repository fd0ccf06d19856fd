package istio

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// collectPolicies gives the filter's policies for a set of proxies, and notes the routes that they hold for.
func (e *emitter) collectPolicies(p *proxySet) []policyconfig.Policy {
	var all []policyconfig.Policy
	scopes := p.findSplitScopes()
	for _, rule := range p.rules {
		if !rule.Sessions.On() || e.hasNoBackends(rule) {
			continue
		}
		addressable, byCluster := e.isAddressable(p, rule, routeNames(rule.Rule))
		if !addressable || !e.isReachable(rule, scopes.have(rule)) || !e.takesCopies(rule) {
			continue
		}
		names := matchNames(rule)
		r := &enabledRule{rule: rule, names: removeDuplicates(slices.Concat(names...)), failStatus: e.findFailStatus(rule)}
		e.reportSplit(rule)
		e.reportRetries(r)
		for _, s := range rule.Sessions.All {
			for _, one := range e.renamePolicies(rule, s, names, byCluster) {
				if scopes[one.Scope] {
					one.Leads = listLeads(rule)
				}
				all = append(all, one)
			}
		}
		for _, b := range rule.DistinctBackends() {
			r.hosts = append(r.hosts, registryHost(b))
		}
		r.hosts = removeDuplicates(r.hosts)
		p.routes = append(p.routes, r)
	}
	slices.SortFunc(all, func(a, b policyconfig.Policy) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// reportRetries says which retries move sessions, or would.
func (e *emitter) reportRetries(r *enabledRule) {
	switch {
	case r.failStatus != 0 && r.rule.Retries:
		e.reportRule(r.rule, ".retry", "a retry would move the sessions that onHostLost Fail keeps")
	case r.rule.RetriesCodes:
		e.reportRule(
			r.rule,
			".retry.codes",
			"codes for requests without a session alone: Istio reads the rule itself, and a retry "+
				"moves the session from a host that answers with one of them",
		)
	}
}

// reportRule says what of a rule Istio can't do.
func (e *emitter) reportRule(rule *ir.AttachedRule, below, why string) {
	e.rep.NotSupportedBy(report.TargetLacks, rule.Route.Subject, Target, rulePath(rule)+below, why)
}

// withhold takes its sessions from a rule, on all listeners of the same proxies, and reports why.
func (e *emitter) withhold(rule *ir.AttachedRule, path, why string) {
	attached := []*ir.AttachedRule{rule}
	for _, other := range e.plan.Rules {
		if other.Rule == rule.Rule && other.Sessions == rule.Sessions &&
			haveSameProxies(other.Listener.Gateway, rule.Listener.Gateway) {
			attached = append(attached, other)
		}
	}
	e.plan.Withhold(attached, e.rep, Target, path, why)
}

// haveSameProxies tells whether two Gateways are served by one set of proxies.
func haveSameProxies(a, b *ir.Gateway) bool {
	return a == b || a.Selector != nil && b.Selector != nil && maps.Equal(a.Selector, b.Selector)
}

// hasNoBackends reports whether no request of a rule goes to a backend of its own: it redirects or answers, which needs
// no sessions, or it delegates.
func (e *emitter) hasNoBackends(rule *ir.AttachedRule) bool {
	if rule.Delegates {
		e.reportRule(rule, ".delegate",
			"Istio makes up the names of the routes of what it delegates to, and sessions find routes by their names")
	}
	return len(rule.DistinctBackends()) == 0
}

// isReachable reports whether Istio has clusters for the rule's backends, whose names are known where sessions are told
// apart by them.
func (e *emitter) isReachable(rule *ir.AttachedRule, led bool) bool {
	for _, b := range rule.DistinctBackends() {
		switch {
		case b.Kind == object.KindXBackend:
			e.withhold(rule, rulePath(rule), "Istio knows no XBackend")
			return false
		case b.Port == 0 && (led || len(rule.DistinctBackends()) > 1):
			e.withhold(
				rule,
				rulePath(rule),
				fmt.Sprintf("the port of %s is not known, by which sessions find a backend of a split: "+
					"write it, or put what has the port into the input", registryHost(b)),
			)
			return false
		}
	}
	return true
}

// reportSplit says what becomes of one session for backends that can't be under one.
func (e *emitter) reportSplit(rule *ir.AttachedRule) {
	if rule.Sessions.WantsShared {
		e.reportRule(rule, ".backendRefs", "one session for backends of which some speak HTTP/1.1 and others HTTP/2: "+
			"the weights choose among them on every request, and each has a session of its own")
	}
}

// findFailStatus is what requests of sessions get whose host can't serve; 0 if they go to another.
func (e *emitter) findFailStatus(rule *ir.AttachedRule) int {
	var found []int
	for _, s := range rule.Sessions.All {
		found = append(found, s.FailStatus())
	}
	if found = removeDuplicates(found); len(found) > 1 {
		e.reportRule(rule, ".backendRefs",
			"the backends differ in onHostLost or failStatus, and Istio's route has one: sessions move to another host")
		return 0
	}
	if found[0] != 0 && e.NativePin {
		e.reportRule(rule, "", "onHostLost: Fail, for Istio's persistent sessions always move to another host")
		return 0
	}
	return found[0]
}

// renamePolicies gives a session's policies with the names of Istio's routes and, where the backend matters, its
// cluster.
func (e *emitter) renamePolicies(
	rule *ir.AttachedRule, s *ir.Session, names [][]string, byCluster bool,
) []policyconfig.Policy {
	var policies []policyconfig.Policy
	for _, p := range s.Policies {
		one := p.Policy
		for _, m := range p.Matches {
			one.Routes = append(one.Routes, names[m]...)
		}
		one.Routes = removeDuplicates(one.Routes)
		switch {
		case s.Backend != nil && (byCluster || len(rule.DistinctBackends()) > 1):
			one.Clusters = []string{clusterName(s.Backend)}
		case byCluster:
			one.Clusters = clusterNames(rule.Rule)
		}
		policies = append(policies, one)
	}
	if !hasOverlap(policies) {
		return policies
	}
	one := policies[0]
	cookie := *one.Cookie
	one.Name, one.Cookie, one.Routes = s.Name, &cookie, removeDuplicates(slices.Concat(names...))
	cookie.Path = findCommonPath(s)
	e.reportRule(
		rule,
		".matches",
		fmt.Sprintf(
			"a cookie path for each match; Istio gives their routes one name, so the path is %q for all",
			cookie.Path,
		),
	)
	return []policyconfig.Policy{one}
}

// SharedPath gives the path that a session's cookie has on Istio for all matches of its rule, where each match has one
// of its own elsewhere; empty if that is no different here.
func SharedPath(rule *ir.Rule, s *ir.Session) string {
	names := routeNames(rule)
	seen := map[string]bool{}
	for _, p := range s.Policies {
		own := map[string]bool{}
		for _, m := range p.Matches {
			own[names[m]] = true
		}
		for name := range own {
			if seen[name] {
				return findCommonPath(s)
			}
			seen[name] = true
		}
	}
	return ""
}

// findCommonPath is the path that all matches' cookies are below.
func findCommonPath(s *ir.Session) string {
	path := s.Policies[0].Cookie.Path
	for _, p := range s.Policies[1:] {
		path = commonPath(path, p.Cookie.Path)
	}
	return path
}

// hasOverlap reports whether two policies hold for one route.
func hasOverlap(policies []policyconfig.Policy) bool {
	seen := map[string]bool{}
	for _, p := range policies {
		for _, r := range p.Routes {
			if seen[r] {
				return true
			}
			seen[r] = true
		}
	}
	return false
}

// commonPath is the longest path that both are below, in whole segments.
func commonPath(a, b string) string {
	if a == "" || b == "" {
		return "/"
	}
	for a != b && !strings.HasPrefix(b, strings.TrimSuffix(a, "/")+"/") {
		a = a[:max(0, strings.LastIndexByte(strings.TrimSuffix(a, "/"), '/'))]
		if a == "" {
			return "/"
		}
	}
	return a
}

// removeDuplicates keeps the first of equal values.
func removeDuplicates[T comparable](values []T) []T {
	var found []T
	for _, v := range values {
		if !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	return found
}
