package policy

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/policy-config"
)

// nameSessions gives every session its scope and name (S22, S25), then suffixes names that can't stay as they are written.
func (r *Rule) nameSessions() {
	for _, s := range r.Sessions {
		s.Scope = s.decideScope()
		name, written := s.Effective.SessionName()
		if written {
			s.nameValue = s.Effective.Field("sessionName").FieldValue
		} else {
			s.nameValue.Level = precedence.BuiltIn
			name = generateName(s.Effective.Type(), s.Scope)
		}
		s.Name = name
	}
	r.suffixBackendNames()
}

// suffixNames suffixes the names that rules can't share.
func (d *decider) suffixNames() {
	for _, r := range d.order {
		d.renames = append(d.renames, r.renames...)
	}
	d.suffixSharedNames()
}

// decideScope is what the session's tokens are bound to (S22).
func (s *Session) decideScope() string {
	switch {
	case s.Backend == nil:
		return s.rule.id.Scope()
	case s.Effective.TurnedOnBy.Level == precedence.InlineXBackend:
		return truncateName("XBackend/"+s.Backend.Object.Key(), policyconfig.MaxScope)
	default:
		return s.rule.id.backendScope(s.Backend)
	}
}

// generateName is the name of a session that nobody named (S25).
func generateName(kind policyconfig.Type, scope string) string {
	if kind == policyconfig.TypeHeader {
		return "x-limpet-session-" + shortHash(scope)
	}
	return "limpet-" + shortHash(scope)
}

// suffixBackendNames suffixes a name that a rule's backends share: one cookie can't hold a session in each of them (S27).
// Two XBackends that write the same name are not helped: that is a collision.
func (r *Rule) suffixBackendNames() {
	if len(r.Sessions) < 2 {
		return
	}
	by := map[string][]*Session{}
	for _, s := range r.Sessions {
		if s.nameValue.Level != precedence.BuiltIn && s.nameValue.Level != precedence.InlineXBackend {
			by[strings.ToLower(s.Name)] = append(by[strings.ToLower(s.Name)], s)
		}
	}
	for _, shared := range by {
		if len(shared) < 2 {
			continue
		}
		for _, s := range shared {
			if s.Effective.Type() == policyconfig.TypeHeader {
				continue // a client sends one value; only the backend used last is kept, which report says
			}
			r.renames = append(r.renames, s.suffixName("S27"))
		}
	}
}

// suffixName gives a session's name the digest of its scope as an end.
func (s *Session) suffixName(semanticsRule string) Rename {
	from := s.Name
	end := "-" + shortHash(s.Scope)
	s.Name = from[:min(len(from), policyconfig.MaxSessionName-len(end))] + end
	s.suffixRule = semanticsRule
	return Rename{Route: s.Route, Rule: s.Rule, By: s.nameValue, SemanticsRule: semanticsRule, From: from, To: s.Name}
}

// suffixSharedNames suffixes a name that a policy above the rules gives to several of them whose cookies would collide
// (S26). All of them get one, so that it does not matter which rule is read first; a scope has it on every way.
func (d *decider) suffixSharedNames() {
	groups := d.findSharedNames()
	if len(groups) == 0 {
		return
	}
	suffixed := map[writtenName]map[string]bool{} // by scope
	for name, sessions := range groups {
		suffixed[name] = findColliding(sessions)
	}
	var renamed []*Rule
	for _, r := range d.order {
		for _, s := range r.Sessions {
			if name, shared := s.sharedName(); shared && suffixed[name][s.Scope] {
				d.renames = append(d.renames, s.suffixName("S26"))
				renamed = append(renamed, r)
			}
		}
	}
	parallel.Each(slices.Compact(renamed), func(some []*Rule) {
		for _, r := range some {
			r.configurePolicies(d.options.Write)
		}
	})
}

// writtenName is a name and the object in which it is written.
type writtenName struct {
	object object.Ref
	name   string
}

// sharedName gives that of a cookie's name; false if it can't reach other rules.
func (s *Session) sharedName() (writtenName, bool) {
	return writtenName{s.nameValue.Origin.Ref, s.Name}, s.isCookie() && s.suffixRule == "" && mayReachSeveralRules(s.nameValue.Level)
}

// findSharedNames gives the sessions that share a name, where they have several scopes.
func (d *decider) findSharedNames() map[writtenName][]*Session {
	first, groups := make(map[writtenName]*Session, len(d.order)), map[writtenName][]*Session{}
	each := func(visit func(writtenName, *Session)) {
		for _, r := range d.order {
			for _, s := range r.Sessions {
				if name, shared := s.sharedName(); shared {
					visit(name, s)
				}
			}
		}
	}
	each(func(name writtenName, s *Session) {
		if of := first[name]; of == nil {
			first[name] = s
		} else if of.Scope != s.Scope {
			groups[name] = nil
		}
	})
	each(func(name writtenName, s *Session) {
		if sessions, several := groups[name]; several {
			groups[name] = append(sessions, s)
		}
	})
	return groups
}

func (s *Session) isCookie() bool { return s.Effective.Type() == policyconfig.TypeCookie }

// mayReachSeveralRules reports whether a name that is written on a rung may reach several rules.
func mayReachSeveralRules(r precedence.Level) bool {
	switch r {
	case precedence.BuiltIn, precedence.InlineRule, precedence.LevelOf(precedence.Override, precedence.OnRule),
		precedence.LevelOf(precedence.Plain, precedence.OnRule), precedence.LevelOf(precedence.Default, precedence.OnRule):
		return false
	}
	return true
}
