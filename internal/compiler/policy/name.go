package policy

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/policy-config"
)

// maxSessionName is the most characters of a session's name.
const maxSessionName = 256

// name gives every session its scope and name (S22, S25), then suffixes names that can't stay as they are written.
func (r *Rule) name() {
	for _, s := range r.Sessions {
		s.Scope = s.scope()
		name, written := s.Effective.SessionName()
		if written {
			s.named = s.Effective.Field("sessionName").Written
		} else {
			s.named.Rung = ladder.BuiltIn
			name = generated(s.Effective.Type(), s.Scope)
		}
		s.Name = name
	}
	r.splitNames()
}

// name suffixes the names that rules can't share.
func (d *decider) name() {
	for _, r := range d.order {
		d.renames = append(d.renames, r.renames...)
	}
	d.sharedNames()
}

// scope is what the session's tokens are bound to (S22).
func (s *Session) scope() string {
	switch {
	case s.Backend == nil:
		return s.rule.id.Scope()
	case s.Effective.Origin.Rung == ladder.InlineXBackend:
		return bounded("XBackend/"+s.Backend.Object.Key(), policyconfig.MaxScope)
	default:
		return s.rule.id.backendScope(s.Backend)
	}
}

// generated is the name of a session that nobody named (S25).
func generated(kind policyconfig.Type, scope string) string {
	if kind == policyconfig.TypeHeader {
		return "x-limpet-session-" + digest(scope)
	}
	return "limpet-" + digest(scope)
}

// splitNames suffixes a name that a rule's backends share: one cookie can't hold a session in each of them (S27).
// Two XBackends that write the same name are not helped: that is a collision.
func (r *Rule) splitNames() {
	if len(r.Sessions) < 2 {
		return
	}
	by := map[string][]*Session{}
	for _, s := range r.Sessions {
		if s.named.Rung != ladder.BuiltIn && s.named.Rung != ladder.InlineXBackend {
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
			r.renames = append(r.renames, s.rename("S27"))
		}
	}
}

// rename gives a session's name the digest of its scope as an end.
func (s *Session) rename(law string) Rename {
	from := s.Name
	end := "-" + digest(s.Scope)
	s.Name = from[:min(len(from), maxSessionName-len(end))] + end
	s.suffix = law
	return Rename{Route: s.Route, Rule: s.Rule, By: s.named, Law: law, From: from, To: s.Name}
}

// sharedNames suffixes a name that a policy above the rules gives to several of them whose cookies would collide
// (S26). All of them get one, so that it does not matter which rule is read first; a scope has it on every way.
func (d *decider) sharedNames() {
	groups := d.sharing()
	if len(groups) == 0 {
		return
	}
	suffixed := map[origin]map[string]bool{} // by scope
	for name, sessions := range groups {
		suffixed[name] = colliding(sessions)
	}
	var renamed []*Rule
	for _, r := range d.order {
		for _, s := range r.Sessions {
			if name, shared := s.origin(); shared && suffixed[name][s.Scope] {
				d.renames = append(d.renames, s.rename("S26"))
				renamed = append(renamed, r)
			}
		}
	}
	parallel.Each(slices.Compact(renamed), func(some []*Rule) {
		for _, r := range some {
			r.configure(d.options.Write)
		}
	})
}

// origin is a name and the object in which it is written.
type origin struct {
	object ladder.Object
	name   string
}

// origin gives that of a cookie's name; false if it can't reach other rules.
func (s *Session) origin() (origin, bool) {
	return origin{s.named.Source.Object, s.Name}, s.isCookie() && s.suffix == "" && aboveRules(s.named.Rung)
}

// sharing gives the sessions that share a name, where they have several scopes.
func (d *decider) sharing() map[origin][]*Session {
	first, groups := make(map[origin]*Session, len(d.order)), map[origin][]*Session{}
	each := func(visit func(origin, *Session)) {
		for _, r := range d.order {
			for _, s := range r.Sessions {
				if name, shared := s.origin(); shared {
					visit(name, s)
				}
			}
		}
	}
	each(func(name origin, s *Session) {
		if of := first[name]; of == nil {
			first[name] = s
		} else if of.Scope != s.Scope {
			groups[name] = nil
		}
	})
	each(func(name origin, s *Session) {
		if sessions, several := groups[name]; several {
			groups[name] = append(sessions, s)
		}
	})
	return groups
}

func (s *Session) isCookie() bool { return s.Effective.Type() == policyconfig.TypeCookie }

// aboveRules reports whether a name that is written on a rung may reach several rules.
func aboveRules(r ladder.Rung) bool {
	switch r {
	case ladder.BuiltIn, ladder.InlineRule, ladder.RungOf(ladder.Override, ladder.OnRule),
		ladder.RungOf(ladder.Plain, ladder.OnRule), ladder.RungOf(ladder.Default, ladder.OnRule):
		return false
	}
	return true
}
