package policy

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/policy-config"
)

// compare puts the older route first, then its rules in order, then the listeners by their names.
func (k ruleKey) compare(o ruleKey) int {
	by := cmp.Or(resource.ByAge(k.route, o.route), cmp.Compare(k.rule, o.rule))
	if by != 0 || k.listener == o.listener {
		return by
	}
	return cmp.Compare(k.listener.Key(), o.listener.Key())
}

// configurePolicies gives the rule's sessions, under the names that they have now, the filter's policies, and refuses those
// that the filter would.
func (r *Rule) configurePolicies(write writer) {
	for _, s := range r.Sessions {
		s.Refusals, s.Policies = s.ownRefusals, nil
		s.locateCookie()
	}
	r.Refused = false
	onePath := !slices.ContainsFunc(r.Sessions, func(s *Session) bool { return len(slices.Compact(slices.Clone(s.pathByMatch))) > 1 })
	for _, s := range r.Sessions {
		s.buildPolicies(onePath)
		s.checkPolicies(write)
		r.Refused = r.Refused || len(s.Refusals) > 0
	}
	r.Routes = r.routeNames(onePath)
}

// routeNames names the proxy's route for each match. They share one name, but where the matches have cookies of
// their own.
func (r *Rule) routeNames(onePath bool) []string {
	names := slices.Repeat([]string{r.id.RouteName()}, r.countMatches())
	for m := range names {
		if !onePath {
			names[m] += fmt.Sprintf("/match/%d", m)
		}
	}
	return names
}

// buildPolicies makes one policy for each path of the cookie, or one for all matches.
func (s *Session) buildPolicies(onePath bool) {
	routes := s.rule.routeNames(onePath)
	base := s.rule.id.policyName()
	if s.Backend != nil && len(s.rule.backends) > 1 {
		base += backendPart(s.Backend)
	}
	if onePath {
		path := ""
		if len(s.pathByMatch) > 0 {
			path = s.pathByMatch[0]
		}
		s.Policies = []policyconfig.Policy{s.buildPolicy(base, path, routes[:1])}
		return
	}
	byPath := map[string]int{} // index of the policy
	for m, path := range s.pathByMatch {
		at, known := byPath[path]
		if !known {
			at = len(s.Policies)
			byPath[path] = at
			s.Policies = append(s.Policies, s.buildPolicy(fmt.Sprintf("%s/match/%d", base, m), path, nil))
		}
		s.Policies[at].Routes = append(s.Policies[at].Routes, routes[m])
	}
	if len(s.pathByMatch) == 0 { // a header, beside cookies of other backends
		s.Policies = []policyconfig.Policy{s.buildPolicy(base, "", routes)}
	}
}

func (s *Session) buildPolicy(name, path string, routes []string) policyconfig.Policy {
	return s.Effective.BuildPolicy(precedence.PolicyIdentity{
		Name: truncateName(name, policyconfig.MaxName), Scope: s.Scope, Routes: slices.Clone(routes), SessionName: s.Name, CookiePath: path,
	})
}

// checkPolicies applies the plugin configuration's own rules, so that they stand in one place, and says which field broke them.
func (s *Session) checkPolicies(write writer) {
	if len(s.Refusals) > 0 {
		return // what follows from that would only be in the way
	}
	var err error
	if len(s.Policies) == 1 {
		_, err = write(s.Policies[0])
	} else {
		config := policyconfig.DefaultConfig()
		config.Policies = s.Policies
		_, err = policyconfig.Marshal(config)
	}
	var faults policyconfig.ErrorList
	if err != nil && !errors.As(err, &faults) {
		faults = policyconfig.ErrorList{{Message: err.Error()}}
	}
	for _, f := range faults {
		refusal := Refusal{s.faultPath(f.Path), f.Message}
		if !slices.ContainsFunc(s.Refusals, func(r Refusal) bool { return r.Path == refusal.Path }) {
			s.Refusals = append(s.Refusals, refusal)
		}
	}
}

// faultPath gives the field of the route that a field of a policy came from.
func (s *Session) faultPath(path string) string {
	_, name, _ := strings.Cut(path, "].")
	if f := s.Effective.Field(name); f != nil && f.Origin.Ref == s.Route.Origin().Ref {
		return f.Path
	}
	var policy int
	if _, err := fmt.Sscanf(path, "policies[%d]", &policy); err == nil && name == "cookie.path" && policy < len(s.Policies) {
		m := max(0, slices.Index(s.pathByMatch, s.Policies[policy].Cookie.Path))
		return s.rulePath().Child("matches").Index(m).Child("path", "value").String()
	}
	return s.rulePath().String()
}

// shareAcrossListeners lets the listeners of a rule that come to the same share it. Where they don't, each has route and policy
// names of its own, for the filter tells policies apart by the route's name.
func (d *decider) shareAcrossListeners() {
	for rest := d.order; len(rest) > 0; {
		first := rest[0]
		n := slices.IndexFunc(rest, func(r *Rule) bool {
			return r.key.rule != first.key.rule || r.key.route != first.key.route && r.key.route.Origin().Ref != first.key.route.Origin().Ref
		})
		if n < 0 {
			n = len(rest)
		}
		d.shareRule(rest[:n]) // the rules are in order
		rest = rest[n:]
	}
}

// shareRule is unify for one rule.
func (d *decider) shareRule(listeners []*Rule) {
	for _, r := range listeners {
		r.AncestorLimited = len(d.limitedPolicies(r)) > 0
	}
	first := listeners[0]
	apart := slices.ContainsFunc(listeners[1:], func(r *Rule) bool { return !d.isSame(r, first) })
	for _, r := range listeners {
		if apart {
			r.qualifyNames()
		} else {
			d.rules[r.key] = first
		}
	}
}

// isSame reports whether two listeners' rules are one in everything that a proxy does.
func (d *decider) isSame(r, o *Rule) bool {
	if !slices.Equal(d.limitedPolicies(r), d.limitedPolicies(o)) {
		return false
	}
	if r.Refused != o.Refused || r.PerBackend != o.PerBackend || len(r.Sessions) != len(o.Sessions) {
		return false
	}
	for i, s := range r.Sessions {
		if s.Backend != o.Sessions[i].Backend || !reflect.DeepEqual(s.Policies, o.Sessions[i].Policies) {
			return false
		}
	}
	return true
}

// qualifyNames puts the listener into the names of a rule's routes and policies.
func (r *Rule) qualifyNames() {
	end := "/listener/" + r.key.listener.Key()
	r.Routes = slices.Clone(r.Routes)
	for m := range r.Routes {
		r.Routes[m] += end
	}
	for _, s := range r.Sessions {
		s.Policies = slices.Clone(s.Policies)
		for i := range s.Policies {
			p := &s.Policies[i]
			p.Name, p.Routes = truncateName(p.Name+end, policyconfig.MaxName), slices.Clone(p.Routes)
			for n := range p.Routes {
				p.Routes[n] += end
			}
		}
	}
}
