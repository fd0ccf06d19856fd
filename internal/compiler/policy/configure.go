package policy

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// configuredRule is a rule whose sessions have the filter's policies. It does not change.
type configuredRule struct {
	*namedRule
	routes   []string // the name of the proxy's route for each match
	sessions []*configuredSession
}

// configuredSession is a session with the filter's policies.
type configuredSession struct {
	*claim
	assigned   assignedName
	policyName string // that of one policy for all matches
	policies   []policyconfig.Policy
	matches    [][]int // for each policy the matches that it is for
}

// configureRule makes the policies of a rule's sessions under the names that they have.
func configureRule(n *namedRule) *configuredRule {
	id := RuleIdentity(n.route, n.rule)
	perMatch := slices.ContainsFunc(n.claims, hasSeveralPaths)
	r := &configuredRule{namedRule: n, routes: nameRoutes(id, n.countMatches(), perMatch)}
	for i, c := range n.claims {
		s := &configuredSession{claim: c, assigned: n.names[i]}
		s.buildPolicies(id, r.routes, perMatch)
		r.sessions = append(r.sessions, s)
	}
	return r
}

// hasSeveralPaths reports whether a session's cookie has not the same path for every match.
func hasSeveralPaths(c *claim) bool {
	return slices.ContainsFunc(c.extent.paths, func(p string) bool { return p != c.extent.paths[0] })
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
		s.addPolicy(name, s.extent.paths[0], routes[:1])
		s.matches = [][]int{listMatches(len(routes))}
	case !s.isCookie(): // a header, together with cookies of other backends
		s.addPolicy(name, "", routes)
		s.matches = [][]int{listMatches(len(routes))}
	default:
		s.buildPolicyPerPath(name, routes)
	}
}

// buildPolicyPerPath makes a policy for each path of the cookie.
func (s *configuredSession) buildPolicyPerPath(name string, routes []string) {
	byPath := map[string]int{} // index of the policy
	for m, path := range s.extent.paths {
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
		Name: truncateName(name, policyconfig.MaxName), Scope: s.scope, Routes: slices.Clone(routes),
		SessionName: s.assigned.text, CookiePath: path,
		Mirrored: s.mirrored && (s.backend < 0 || len(s.backends) == 1),
	}))
}
