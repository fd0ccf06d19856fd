package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// configuredRule is a rule whose sessions have the filter's policies. It does not change.
type configuredRule struct {
	named    *namedRule
	routes   []string // the name of the proxy's route for each match
	sessions []*configuredSession
}

// configuredSession is a session with the filter's policies, and the refusals of all that the filter would refuse.
type configuredSession struct {
	*namedSession
	policyName string // that of one policy for all matches
	policies   []policyconfig.Policy
	matches    [][]int // for each policy the matches that it is for
	refusals   []Refusal
}

// isRefused reports whether the rule can't have the sessions that are asked for.
func (r *configuredRule) isRefused() bool {
	return slices.ContainsFunc(r.sessions, func(s *configuredSession) bool { return len(s.refusals) > 0 })
}

// configureRule makes the policies of a rule's sessions under the names that they have.
func configureRule(n *namedRule) *configuredRule {
	id := RuleIdentity(n.resolved.route, n.resolved.rule)
	perMatch := slices.ContainsFunc(n.sessions, hasSeveralPaths)
	r := &configuredRule{named: n, routes: nameRoutes(id, n.resolved.countMatches(), perMatch)}
	for _, s := range n.sessions {
		c := &configuredSession{namedSession: s, refusals: slices.Clip(s.refusals)}
		c.buildPolicies(id, r.routes, perMatch)
		c.validatePolicies()
		r.sessions = append(r.sessions, c)
	}
	return r
}

// hasSeveralPaths reports whether a session's cookie has not the same path for every match.
func hasSeveralPaths(s *namedSession) bool {
	return slices.ContainsFunc(s.cookie.paths, func(p string) bool { return p != s.cookie.paths[0] })
}

// nameRoutes names the proxy's route for each match. They share one name, unless the matches have cookies of their own.
func nameRoutes(id Identity, matches int, perMatch bool) []string {
	names := slices.Repeat([]string{id.RouteName()}, matches)
	for m := range names {
		if perMatch {
			names[m] += fmt.Sprintf("/match/%d", m)
		}
	}
	return names
}

// buildPolicies makes one policy for each path of the cookie, or one for all matches.
func (s *configuredSession) buildPolicies(id Identity, routes []string, perMatch bool) {
	name := id.policyName()
	if s.backend >= 0 && len(s.backends) > 1 {
		name += backendPart(&s.backends[s.backend])
	}
	s.policyName = truncateName(name, policyconfig.MaxName)
	switch {
	case !perMatch:
		path := ""
		if len(s.cookie.paths) > 0 {
			path = s.cookie.paths[0]
		}
		s.addPolicy(name, path, routes[:1])
		s.matches = [][]int{listMatches(len(routes))}
	case len(s.cookie.paths) == 0: // a header, together with cookies of other backends
		s.addPolicy(name, "", routes)
		s.matches = [][]int{listMatches(len(routes))}
	default:
		s.buildPolicyPerPath(name, routes)
	}
}

// buildPolicyPerPath makes a policy for each path of the cookie.
func (s *configuredSession) buildPolicyPerPath(name string, routes []string) {
	byPath := map[string]int{} // index of the policy
	for m, path := range s.cookie.paths {
		at, known := byPath[path]
		if !known {
			at = len(s.policies)
			byPath[path] = at
			s.addPolicy(fmt.Sprintf("%s/match/%d", name, m), path, nil)
			s.matches = append(s.matches, nil)
		}
		s.policies[at].Routes = append(s.policies[at].Routes, routes[m])
		s.matches[at] = append(s.matches[at], m)
	}
}

// listMatches lists all matches of a rule.
func listMatches(count int) []int {
	all := make([]int, count)
	for m := range all {
		all[m] = m
	}
	return all
}

func (s *configuredSession) addPolicy(name, path string, routes []string) {
	s.policies = append(s.policies, s.effective.BuildPolicy(precedence.PolicyIdentity{
		Name: truncateName(name, policyconfig.MaxName), Scope: s.scope, Routes: slices.Clone(routes), SessionName: s.name, CookiePath: path,
		Mirrored: s.mirrored && (s.backend < 0 || len(s.backends) == 1),
	}))
}

// validatePolicies applies the rules of the plugin's configuration, so that they stand in one place, and says which field of
// the route breaks them.
func (s *configuredSession) validatePolicies() {
	if len(s.refusals) > 0 {
		return // what follows from that would only distract
	}
	config := policyconfig.DefaultConfig()
	config.Policies = s.policies
	err := policyconfig.Validate(config)
	var faults policyconfig.ErrorList
	if err != nil && !errors.As(err, &faults) {
		faults = policyconfig.ErrorList{{Message: err.Error()}}
	}
	for _, f := range faults {
		refusal := Refusal{s.faultPath(f.Path), f.Message}
		if !slices.ContainsFunc(s.refusals, func(r Refusal) bool { return r.Path == refusal.Path }) {
			s.refusals = append(s.refusals, refusal)
		}
	}
}

// faultPath gives the field of the route that a field of a policy came from.
func (s *configuredSession) faultPath(path string) string {
	_, name, _ := strings.Cut(path, "].")
	if f := s.effective.Field(name); f != nil && f.Origin.Ref == s.route.Origin().Ref {
		return f.Path
	}
	var policy int
	if _, err := fmt.Sscanf(path, "policies[%d]", &policy); err == nil && name == "cookie.path" && policy < len(s.policies) {
		m := max(0, slices.Index(s.cookie.paths, s.policies[policy].Cookie.Path))
		return s.fieldPath().Child("matches").Index(m).Child("path", "value").String()
	}
	return s.fieldPath().String()
}
