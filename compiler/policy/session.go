// Package policy decides which session policy holds for each rule.
package policy

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/policy-config"
)

// Session is what a rule's session persistence comes to: one policy, or one for each cookie path (GEP-1619 up to
// Gateway API 1.6: the path is that of the match). The policies of a rule share their scope, hence sessions.
type Session struct {
	Policies []policyconfig.Policy
	// Routes holds the name of the proxy's route for each match of the rule.
	Routes []string
}

// ForRule gives a rule's session, nil if it has none. False means that what the rule asks for can't be
// honoured; the report then says why, and the rule's requests get 500 rather than no persistence.
func ForRule(route *gateway.Route, rule int, rep *report.Report) (*Session, bool) {
	spec := route.Value.Spec.Rules[rule].SessionPersistence
	if spec == nil {
		return nil, true
	}
	r := resolver{
		route: route, rule: &route.Value.Spec.Rules[rule], id: RuleIdentity(route, rule),
		path: field.NewPath("spec", "rules").Index(rule),
	}
	s := r.session(r.policy(spec))
	r.check(s)
	for m := range r.rule.Matches {
		if path := r.matchPath(m); r.hostOnly && path != "/" && s.Policies[0].Cookie != nil {
			rep.Advise(route, r.path.Child("sessionPersistence", "sessionName"),
				fmt.Sprintf("the name begins with __Host-, so the cookie's path is \"/\" and not %q", path))
		}
	}
	for _, p := range r.problems {
		rep.WarnForAt(route, string(gatewayv1.RouteReasonUnsupportedValue), p.Path, fmt.Sprintf("%s: every request of the rule gets %d", p.Message, gateway.Broken(route)))
	}
	return s, len(r.problems) == 0
}

// resolver works on one rule.
type resolver struct {
	route    *gateway.Route
	rule     *gatewayv1.HTTPRouteRule
	id       Identity
	path     *field.Path
	hostOnly bool  // the cookie's name begins with __Host-
	matches  []int // the first match of each policy of the session
	problems []policyconfig.Error
}

func (r *resolver) problem(path *field.Path, message string) {
	for _, p := range r.problems {
		if p.Path == path.String() {
			return
		}
	}
	r.problems = append(r.problems, policyconfig.Error{Path: path.String(), Message: message})
}

// policy translates what the rule says, for any path.
func (r *resolver) policy(spec *gatewayv1.SessionPersistence) policyconfig.Policy {
	p := policyconfig.DefaultPolicy()
	p.Scope = r.id.Scope()
	p.SessionName = "limpet-" + r.id.digest()
	if spec.Type != nil && *spec.Type == gatewayv1.HeaderBasedSessionPersistence {
		p.Type = policyconfig.TypeHeader
		p.SessionName = "x-limpet-session-" + r.id.digest()
	} else {
		cookie := policyconfig.DefaultCookie()
		if c := spec.CookieConfig; c != nil && c.LifetimeType != nil {
			cookie.LifetimeType = policyconfig.LifetimeType(*c.LifetimeType)
		}
		p.Cookie = &cookie
	}
	if spec.SessionName != nil {
		p.SessionName = *spec.SessionName
		r.hostOnly = hasHostPrefix(p.SessionName)
	}
	if spec.AbsoluteTimeout != nil {
		p.AbsoluteTimeout = r.timeout(*spec.AbsoluteTimeout)
	}
	return p
}

// timeout reads a duration. Zero, which the API lets through, would be no timeout at all or no session at all.
func (r *resolver) timeout(text gatewayv1.Duration) policyconfig.Duration {
	path := r.path.Child("sessionPersistence", "absoluteTimeout")
	d, err := policyconfig.ParseDuration(string(text))
	switch {
	case err != nil:
		r.problem(path, field.Invalid(path, string(text), err.Error()).ErrorBody())
	case d == 0:
		r.problem(path, field.Invalid(path, string(text), "must be longer than 0s; leave it out for sessions without an end").ErrorBody())
	}
	return max(d, 1) // goes nowhere after a problem
}

// session gives each match its policy.
func (r *resolver) session(policy policyconfig.Policy) *Session {
	s := &Session{}
	matches := max(len(r.rule.Matches), 1)
	byPath := map[string]int{} // index of the policy
	onePath := policy.Cookie == nil || r.onePath()
	for m := range matches {
		path, name, routeName := "", r.id.policyName(), r.id.RouteName()
		if policy.Cookie != nil {
			path = r.cookiePath(m)
		}
		if !onePath {
			name, routeName = fmt.Sprintf("%s/match/%d", name, m), fmt.Sprintf("%s/match/%d", routeName, m)
		}
		at, known := byPath[path]
		if !known {
			at = len(s.Policies)
			byPath[path] = at
			s.Policies = append(s.Policies, withPath(policy, name, path))
			r.matches = append(r.matches, m)
		}
		if p := &s.Policies[at]; !onePath || len(p.Routes) == 0 {
			p.Routes = append(p.Routes, routeName)
		}
		s.Routes = append(s.Routes, routeName)
	}
	return s
}

// hasHostPrefix reports whether browsers bind a cookie of the name to its host; they don't look at the case.
func hasHostPrefix(name string) bool {
	const prefix = "__Host-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

func withPath(p policyconfig.Policy, name, path string) policyconfig.Policy {
	p.Name = bounded(name, policyconfig.MaxName)
	if p.Cookie != nil {
		cookie := *p.Cookie
		cookie.Path = path
		p.Cookie = &cookie
	}
	return p
}

func (r *resolver) onePath() bool {
	for m := range r.rule.Matches {
		if r.cookiePath(m) != r.cookiePath(0) {
			return false
		}
	}
	return true
}

// cookiePath is the Path attribute for a match: browsers send a cookie of the path /cart for /cart and all that
// is below it (RFC 6265, section 5.1.4), as a prefix match takes them. What the attribute can't hold is cut off
// together with its segment. A name with the prefix __Host- has the path "/" only (RFC 6265bis, section 5.7).
func (r *resolver) cookiePath(match int) string {
	path := r.matchPath(match)
	before, _, found := strings.Cut(path, ";")
	if found {
		path = gateway.Prefix(before[:strings.LastIndexByte(before, '/')+1])
	}
	if r.hostOnly {
		return "/"
	}
	return path
}

// matchPath is the path of a match, without a slash at the end of a prefix.
func (r *resolver) matchPath(match int) string {
	if match >= len(r.rule.Matches) || r.rule.Matches[match].Path == nil || r.rule.Matches[match].Path.Value == nil {
		return "/"
	}
	path := r.rule.Matches[match].Path
	if path.Type != nil && *path.Type == gatewayv1.PathMatchExact {
		return *path.Value
	}
	if path.Type != nil && *path.Type == gatewayv1.PathMatchRegularExpression {
		return gateway.Beginning(path)
	}
	return gateway.Prefix(*path.Value)
}

// check applies the plugin configuration's own rules, so that they stand in one place, and says which of the
// rule's fields broke them.
func (r *resolver) check(s *Session) {
	config := policyconfig.DefaultConfig()
	config.Policies = s.Policies
	_, err := policyconfig.Marshal(config)
	if err == nil {
		return
	}
	var faults policyconfig.ErrorList
	if !errors.As(err, &faults) {
		faults = policyconfig.ErrorList{{Message: err.Error()}}
	}
	for _, f := range faults {
		r.problem(r.source(f.Path), f.Message)
	}
}

// source gives the field of the rule that a field of a policy came from.
func (r *resolver) source(path string) *field.Path {
	session := r.path.Child("sessionPersistence")
	_, below, _ := strings.Cut(path, "].")
	switch below {
	case "sessionName", "absoluteTimeout":
		return session.Child(below)
	case "cookie.path":
		var policy int
		if _, err := fmt.Sscanf(path, "policies[%d]", &policy); err == nil && policy < len(r.matches) {
			return r.path.Child("matches").Index(r.matches[policy]).Child("path", "value")
		}
	}
	return session
}
