package istio

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/policy-config"
)

// collectPolicies gives the filter's policies for a set of proxies, and notes the routes that they hold for.
func (e *emitter) collectPolicies(p *proxySet) []policyconfig.Policy {
	var all []policyconfig.Policy
	for _, rule := range p.rules {
		if rule.Rule.Refused || len(rule.Rule.Sessions) == 0 || e.hasNoBackends(rule) {
			continue
		}
		names := e.routeNames(rule.Route, rule.Index)
		if !e.isAddressable(p, rule, names) || !e.isReachable(rule) {
			continue
		}
		r := &enabledRule{rule: rule, names: removeDuplicates(names), failStatus: e.findFailStatus(rule)}
		e.reportSplit(rule)
		if r.failStatus != 0 && asksForRetries(rule.Route.Value.Spec.Rules[rule.Index].Retry) {
			e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule)+".retry", "a retry would move the sessions that onHostLost Fail keeps")
		}
		for _, s := range rule.Rule.Sessions {
			all = append(all, e.renamePolicies(rule, s, names)...)
		}
		for _, b := range rule.Rule.Backends() {
			r.hosts = append(r.hosts, registryHost(b))
		}
		r.hosts = removeDuplicates(r.hosts)
		p.routes = append(p.routes, r)
	}
	slices.SortFunc(all, func(a, b policyconfig.Policy) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// hasNoBackends reports whether no request of a rule goes to a backend of its own: it redirects or answers, which needs no
// sessions, or it delegates.
func (e *emitter) hasNoBackends(rule lower.AttachedRule) bool {
	v := e.virtualService(rule.Route)
	if v == nil {
		return len(rule.Rule.Backends()) == 0
	}
	http := v.Spec.HTTP[rule.Index]
	if http.Delegate != nil {
		e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule)+".delegate", "Istio makes up the names of the routes of what it delegates to, and sessions find routes by their names")
	}
	return len(http.Route) == 0
}

// isReachable reports whether Istio has clusters for the rule's backends.
func (e *emitter) isReachable(rule lower.AttachedRule) bool {
	for _, b := range rule.Rule.Backends() {
		switch {
		case b.Object.Kind == object.KindXBackend:
			e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule), "Istio knows no XBackend")
			return false
		case b.Port == 0 && rule.Rule.PerBackend:
			e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule), fmt.Sprintf("the port of %s is not known, which has sessions of its own: write it, or put what has the port into the input", registryHost(b)))
			return false
		}
	}
	return true
}

// reportSplit says what becomes of one session for several backends.
func (e *emitter) reportSplit(rule lower.AttachedRule) {
	if !rule.Rule.PerBackend || len(rule.Rule.Backends()) < 2 || rule.Rule.Sessions[0].Release == sessionapi.Release17 {
		return
	}
	e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule)+".backendRefs",
		"one session for several backends; Istio chooses among them by weight for every request, so each backend has a session of its own")
}

// findFailStatus is what requests of sessions get whose host can't serve; 0 if they go to another.
func (e *emitter) findFailStatus(rule lower.AttachedRule) int {
	var found []int
	for _, s := range rule.Rule.Sessions {
		status := 0
		if s.Policies[0].OnHostLost == policyconfig.Fail {
			status = s.Policies[0].FailStatus
		}
		found = append(found, status)
	}
	if found = removeDuplicates(found); len(found) > 1 {
		e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule)+".backendRefs",
			"the backends differ in onHostLost or failStatus, and Istio's route has one: sessions move to another host")
		return 0
	}
	if found[0] != 0 && e.NativePin {
		e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule), "onHostLost: Fail, for Istio's persistent sessions always move to another host")
		return 0
	}
	return found[0]
}

// asksForRetries reports whether a rule asks for retries.
func asksForRetries(retry *gatewayv1.HTTPRouteRetry) bool {
	return retry != nil && (retry.Attempts == nil || *retry.Attempts > 0)
}

// renamePolicies gives a session's policies with the names of Istio's routes and, where the backend matters, its cluster.
func (e *emitter) renamePolicies(rule lower.AttachedRule, s *policy.Session, names []string) []policyconfig.Policy {
	policies := slices.Clone(s.Policies)
	for i := range policies {
		policies[i].Routes = istioNames(rule, policies[i].Routes, names)
		if s.Backend != nil && len(rule.Rule.Backends()) > 1 {
			policies[i].Clusters = []string{clusterName(s.Backend)}
		}
	}
	if !hasOverlap(policies) {
		return policies
	}
	one := policies[0]
	cookie := *one.Cookie
	one.Name, _, _ = strings.Cut(one.Name, "/match/")
	one.Cookie, one.Routes = &cookie, removeDuplicates(names)
	for _, p := range policies[1:] {
		cookie.Path = commonPath(cookie.Path, p.Cookie.Path)
	}
	e.Report.NotSupportedBy(rule.Route, Target, rulePath(rule)+".matches",
		fmt.Sprintf("a cookie path for each match; Istio gives their routes one name, so the path is %q for all", cookie.Path))
	return []policyconfig.Policy{one}
}

// istioNames gives Istio's names for those routes of a rule that a policy holds for.
func istioNames(rule lower.AttachedRule, routes, names []string) []string {
	var found []string
	for m, name := range rule.Rule.Routes {
		if slices.Contains(routes, name) {
			found = append(found, names[m])
		}
	}
	return removeDuplicates(found)
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
