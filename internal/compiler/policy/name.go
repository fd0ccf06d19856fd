package policy

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// namedRule is a rule whose sessions have scopes and names. It does not change.
type namedRule struct {
	resolved *resolvedRule
	sessions []*namedSession // on each path where sessions are on
	renames  []Rename
}

// namedSession is a session with its scope and name, and the cookie that follows from them.
type namedSession struct {
	*resolvedPath
	scope, name string
	written     string            // the name before S28 qualified it, empty if it did not
	nameField   *precedence.Field // where the name is written; nil if it is generated
	// suffixRule is the rule of docs/semantics.md by which the name was suffixed, empty if it was not.
	suffixRule string
	cookie     cookieExtent // of a header it is empty
}

// nameSessions gives every session its scope and name (S22, S25), and suffixes names that the rule's backends can't share.
func nameSessions(r *resolvedRule) *namedRule {
	n := &namedRule{resolved: r}
	id := RuleIdentity(r.route, r.rule)
	for _, p := range r.paths {
		if p.effective.On {
			n.sessions = append(n.sessions, nameSession(p, id))
		}
	}
	n.suffixBackendNames()
	for _, s := range n.sessions {
		s.cookie = s.findCookieExtent()
	}
	return n
}

func nameSession(p *resolvedPath, id Identity) *namedSession {
	s := &namedSession{resolvedPath: p, scope: p.decideScope(id)}
	name, written := p.effective.SessionName()
	if written {
		s.name, s.nameField = name, p.effective.Field("sessionName")
	} else {
		s.name = generateName(p.effective.Type(), s.scope)
	}
	return s
}

// decideScope is what the session's tokens are bound to (S22).
func (p *resolvedPath) decideScope(id Identity) string {
	switch {
	case p.backend < 0:
		return id.Scope()
	case p.effective.TurnedOnBy.Level == precedence.InlineXBackend:
		return truncateName("XBackend/"+p.backends[p.backend].Object.Key(), policyconfig.MaxScope)
	default:
		return id.backendScope(&p.backends[p.backend])
	}
}

// generateName is the name of a session for which no object writes one (S25).
func generateName(kind policyconfig.Type, scope string) string {
	if kind == policyconfig.TypeHeader {
		return "x-limpet-session-" + shortHash(scope)
	}
	return "limpet-" + shortHash(scope)
}

// suffixBackendNames suffixes a cookie's name that several of the rule's backends have: one cookie can't hold a session in
// each of them (S27). Two XBackends that write the same name are not helped: that is a collision. Nor is a header suffixed: a
// client sends one value, and only the session in the backend used last is kept, which the report says.
func (n *namedRule) suffixBackendNames() {
	if len(n.sessions) < 2 {
		return
	}
	count := map[string]int{}
	for _, s := range n.sessions {
		if s.mayBeSuffixed() {
			count[strings.ToLower(s.name)]++
		}
	}
	for i, s := range n.sessions {
		if s.mayBeSuffixed() && s.isCookie() && count[strings.ToLower(s.name)] > 1 {
			n.sessions[i] = n.suffixName(s, "S27")
		}
	}
}

func (s *namedSession) mayBeSuffixed() bool {
	return s.nameField != nil && s.nameField.Level != precedence.InlineXBackend && !s.effective.Envelope()
}

// suffixName gives a session of the rule that has the digest of its scope as the end of its name.
func (n *namedRule) suffixName(s *namedSession, semanticsRule string) *namedSession {
	suffixed := *s
	suffixed.name = suffix(s.name, s.scope)
	suffixed.suffixRule = semanticsRule
	n.renames = append(n.renames, Rename{
		Route: s.route, Rule: s.rule, By: s.nameField.FieldValue, SemanticsRule: semanticsRule, From: s.name, To: suffixed.name,
	})
	return &suffixed
}

// suffix gives a name that has the digest of a text as its end.
func suffix(name, text string) string {
	end := "-" + shortHash(text)
	return name[:min(len(name), policyconfig.MaxSessionName-len(end))] + end
}

func (s *namedSession) isCookie() bool { return s.effective.Type() == policyconfig.TypeCookie }

// isOwnCookie is isCookie of one that limpet sets, and not the application.
func (s *namedSession) isOwnCookie() bool { return s.isCookie() && !s.effective.Envelope() }

// listRenames lists the names that were suffixed: first for the backends of a rule, then for other rules of a namespace, then
// for those of others.
func listRenames(rules []*configuredRule) (renames []Rename) {
	for _, semanticsRule := range []string{"S27", "S26", "S28"} {
		for _, c := range rules {
			for _, r := range c.named.renames {
				if r.SemanticsRule == semanticsRule {
					renames = append(renames, r)
				}
			}
		}
	}
	return renames
}

// suffixSharedNames suffixes a name that a policy above the rules gives to several of a namespace whose cookies would collide (S26).
// All of them get one, so that it does not matter which rule is read first; a scope has it on every path. What a session had in the
// last result it keeps: the plain name, so that who comes later has to have another, or the suffix.
func suffixSharedNames(rules []*namedRule, held HeldNames) []*namedRule {
	groups := findSharedNames(rules)
	if len(groups) == 0 && len(held) == 0 {
		return rules
	}
	suffixes := sharedSuffixes{held: held, colliding: map[writtenName]map[string]bool{}}
	for name, sessions := range groups {
		suffixes.colliding[name] = held.findColliding(name.name, sessions)
	}
	suffixed := make([]*namedRule, len(rules))
	for i, n := range rules {
		suffixed[i] = n.suffixShared(suffixes)
	}
	return suffixed
}

// sharedSuffixes says which names are to have a suffix, by the scopes.
type sharedSuffixes struct {
	held      HeldNames
	colliding map[writtenName]map[string]bool
}

// has tells whether a session that shares its name is to have a suffix.
func (x sharedSuffixes) has(name writtenName, s *namedSession) bool {
	h := x.held[s.scope]
	return x.colliding[name][s.scope] || h.Written == name.name && h.Emitted == suffix(s.name, s.scope)
}

// findColliding gives the scopes whose cookies of one name would collide, but for those that had the plain name and do not collide
// among themselves.
func (held HeldNames) findColliding(name string, sessions []*namedSession) map[string]bool {
	colliding := findColliding(sessions)
	var plain []*namedSession
	for _, s := range sessions {
		if held[s.scope] == (HeldName{name, name}) {
			plain = append(plain, s)
		}
	}
	still := findColliding(plain)
	for _, s := range plain {
		if !still[s.scope] {
			delete(colliding, s.scope)
		}
	}
	return colliding
}

// suffixShared gives the rule with a suffix at the names that are to have one.
func (n *namedRule) suffixShared(suffixes sharedSuffixes) *namedRule {
	suffixed := n
	for i, s := range n.sessions {
		if name, shared := s.sharedName(); !shared || !suffixes.has(name, s) {
			continue
		}
		if suffixed == n {
			suffixed = &namedRule{resolved: n.resolved, sessions: slices.Clone(n.sessions), renames: slices.Clip(n.renames)}
		}
		renamed := suffixed.suffixName(s, "S26")
		renamed.cookie, renamed.written = renamed.findCookieExtent(), s.name
		suffixed.sessions[i] = renamed
	}
	return suffixed
}

// writtenName is a name and the object in which it is written, for the rules of one namespace: what another adds changes no
// name there.
type writtenName struct {
	object    object.Ref
	name      string
	namespace string
}

// sharedName gives that of a cookie's name; false if it can't reach other rules.
func (s *namedSession) sharedName() (writtenName, bool) {
	if s.nameField == nil || !s.isCookie() || s.effective.Envelope() || s.suffixRule != "" || !mayReachSeveralRules(s.nameField.Level) {
		return writtenName{}, false
	}
	return writtenName{s.nameField.Origin.Ref, s.name, s.route.Namespace}, true
}

// findSharedNames gives the sessions that share a name, where they have several scopes.
func findSharedNames(rules []*namedRule) map[writtenName][]*namedSession {
	first, groups := make(map[writtenName]*namedSession, len(rules)), map[writtenName][]*namedSession{}
	each := func(visit func(writtenName, *namedSession)) {
		for _, n := range rules {
			for _, s := range n.sessions {
				if name, shared := s.sharedName(); shared {
					visit(name, s)
				}
			}
		}
	}
	each(func(name writtenName, s *namedSession) {
		if of := first[name]; of == nil {
			first[name] = s
		} else if of.scope != s.scope {
			groups[name] = nil
		}
	})
	each(func(name writtenName, s *namedSession) {
		if sessions, several := groups[name]; several {
			groups[name] = append(sessions, s)
		}
	})
	return groups
}

// mayReachSeveralRules reports whether a name that is written at a level may reach several rules.
func mayReachSeveralRules(l precedence.Level) bool {
	switch l {
	case precedence.BuiltIn, precedence.InlineRule, precedence.LevelOf(precedence.Override, precedence.OnRule),
		precedence.LevelOf(precedence.Plain, precedence.OnRule), precedence.LevelOf(precedence.Default, precedence.OnRule):
		return false
	}
	return true
}
