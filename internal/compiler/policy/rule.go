package policy

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Rule is what was decided about the session persistence of a rule on one listener, or on several that share it.
type Rule struct {
	// Routes holds the name of the proxy's route for each match of the rule.
	Routes []string
	// Refused says that the rule can't have the session that was asked for: every request of it is answered 500.
	Refused bool
	// AncestorLimited says that a policy about its load balancing or retries has no effect here, because its status can't
	// list the Gateway (S63).
	AncestorLimited bool
	// PerBackend says that each backend has a session of its own, and that the weights choose among them on every
	// request (S32).
	PerBackend bool
	// Sessions are those that are on: at most one without PerBackend.
	Sessions []*Session

	at    *attachedRule
	paths []*Decision // where sessions are off, too
}

// Session is the session persistence of a rule, or of one of its backends.
type Session struct {
	*Decision
	// Backend is the one that the session is about, nil for all of the rule's.
	Backend *backend.Backend
	// Matches lists for each of Policies the matches of the rule that it is for.
	Matches [][]int
	// PolicyName is the name that one policy in place of all of them has.
	PolicyName string

	claim *claim
}

// Gateway is the one of the listener that was looked at. Where several listeners share the rule, what is decided does
// not differ among their Gateways.
func (r *Rule) Gateway() object.Ref { return r.at.listener.Gateway().Ref() }

// Backends are those that the rule's references lead to, each once.
func (r *Rule) Backends() []*backend.Backend { return r.at.backends }

// Session returns the session of a backend; nil if it has none.
func (r *Rule) Session(b *backend.Backend) *Session {
	i := slices.IndexFunc(r.Sessions, func(s *Session) bool { return s.Backend == nil || s.Backend == b })
	if i < 0 {
		return nil
	}
	return r.Sessions[i]
}

// newRule puts together what was decided for a rule on a listener.
func newRule(at *attachedRule, c *configuredRule) *Rule {
	r := &Rule{Routes: c.routes, PerBackend: c.perBackend, at: at, paths: make([]*Decision, 0, len(c.paths))}
	sessions := c.sessions
	for _, p := range c.paths {
		d := &Decision{
			Path:      p.trafficPath,
			Route:     p.route,
			Rule:      p.rule,
			Release:   p.release,
			Effective: p.effective,
			Rejected:  p.rejected,
		}
		if c.apart != "" && p.effective.On && p.effective.IsOfRoute() {
			d.Effective.Ignored = append(slices.Clip(d.Effective.Ignored), p.effective.NewApart(fmt.Sprintf(
				"rule %d of %s keeps sessions of its own: %s", p.rule, p.route, c.apart)))
		}
		r.paths = append(r.paths, d)
		if !p.effective.On {
			continue
		}
		s := newSession(d, at, sessions[0])
		d.Withheld, sessions = sessions[0].assigned.withheld, sessions[1:]
		if d.Withheld != "" {
			d.Policies, d.Name = nil, ""
			continue
		}
		r.Sessions = append(r.Sessions, s)
		r.Refused = r.Refused || len(d.Refusals) > 0
	}
	return r
}

// newSession completes the decision about a path with the session that is on there.
func newSession(d *Decision, at *attachedRule, c *configuredSession) *Session {
	d.Scope, d.Name, d.Policies, d.Refusals = c.scope, c.assigned.text, c.policies, c.refusals
	d.held, d.ofRoute = c.findHeld(), c.ofRoute
	s := &Session{Decision: d, Matches: c.matches, PolicyName: c.policyName, claim: c.claim}
	if c.backend >= 0 {
		s.Backend = at.backends[c.backend]
	}
	return s
}
