package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// EndedSessions is a rule's sessions of which an edit of the input ends all, or those whose cookies it moves.
type EndedSessions struct {
	// Route is the rule's route, as it is after the edit if it still is there, else as it was. Rule is the index of the rule
	// in it, -1 if the rule is not there any more.
	Route *gateway.Route
	Rule  int
	// Why says what ends them.
	Why string
}

// FindEndedSessions compares what was decided before an edit of the input with what is decided after it. A session that the edit
// lets live has its scope and its name, in the same cookie or header.
func FindEndedSessions(before, after *Decisions) (ended []EndedSessions) {
	sessions, rules := after.indexByScope()
	wereKept, areKept := before.indexCookies(), after.indexCookies()
	reported := map[string]bool{}
	for _, was := range before.Paths {
		key, own := was.Scope, rules.findRebound(was)
		if own != nil {
			key += " in " + own.Scope
		}
		if was.Scope == "" || len(was.Policies) == 0 || reported[key] {
			continue
		}
		e := EndedSessions{Route: was.Route, Rule: -1}
		if is := sessions[was.Scope]; own != nil {
			e.Route, e.Rule = own.Route, own.Rule
			e.Why = fmt.Sprintf("its sessions belonged to %s and belong to %s (spec.scope of a policy for the route)", was.Scope, own.Scope)
		} else if is != nil {
			e.Route, e.Rule, e.Why = is.Route, is.Rule, describeDifference(&was.Policies[0], &is.Policies[0])
			if e.Why == "" {
				e.Why = describeMove(wereKept[was.Scope], areKept[was.Scope])
			}
		} else {
			e.Route, e.Rule, e.Why = describeLoss(was, rules)
		}
		if e.Why != "" {
			reported[key] = true
			ended = append(ended, e)
		}
	}
	return ended
}

// ruleIndex is the rules of an input: those of each route, and the rule that would have a scope if it had a session.
type ruleIndex struct {
	routes  map[string]*gateway.Route
	byScope map[string]ruleKey
	// sessions are those of each rule by the scope that it would have by itself.
	sessions map[string][]*Decision
}

// findRebound gives a session of the same rule that other rules of its route share now and did not, or the other way round; nil if
// the rule has the session still.
func (x *ruleIndex) findRebound(was *Decision) *Decision {
	own := x.sessions[RuleIdentity(was.Route, was.Rule).Scope()]
	if slices.ContainsFunc(own, func(is *Decision) bool { return is.Scope == was.Scope }) {
		return nil
	}
	i := slices.IndexFunc(own, func(is *Decision) bool { return is.ofRoute != was.ofRoute })
	if i < 0 {
		return nil
	}
	return own[i]
}

// indexByScope gives the sessions by their scopes, and the rules.
func (d *Decisions) indexByScope() (sessions map[string]*Decision, rules ruleIndex) {
	sessions = map[string]*Decision{}
	rules = ruleIndex{map[string]*gateway.Route{}, map[string]ruleKey{}, map[string][]*Decision{}}
	for _, path := range d.Paths {
		if path.Scope != "" && len(path.Policies) > 0 {
			sessions[path.Scope] = path
			own := RuleIdentity(path.Route, path.Rule).Scope()
			rules.sessions[own] = append(rules.sessions[own], path)
		}
	}
	for key := range d.rules {
		rules.routes[key.route.Origin().String()] = key.route
		rules.byScope[RuleIdentity(key.route, key.rule).Scope()] = key
	}
	return sessions, rules
}

// describeLoss says why there is no session with a scope any more, and where.
func describeLoss(was *Decision, rules ruleIndex) (route *gateway.Route, rule int, why string) {
	id := RuleIdentity(was.Route, was.Rule)
	route = rules.routes[was.Route.Origin().String()]
	is, there := rules.byScope[id.Scope()]
	switch {
	case route == nil:
		return was.Route, -1, "the route is gone, or no listener has it"
	case there:
		return is.route, is.rule, "it has no session any more in the backends that it had one in"
	case id.name != "":
		return route, -1, fmt.Sprintf("no rule is named %q any more", id.name)
	default:
		return route, -1, fmt.Sprintf("no rule without a name has the matches that spec.rules[%d] had; "+
			"rules with names keep their sessions when their matches change", was.Rule)
	}
}

// describeDifference says why the sessions of one policy are lost to another of the same scope; empty if they are not.
func describeDifference(was, is *policyconfig.Policy) string {
	switch {
	case was.Type != is.Type:
		return fmt.Sprintf("its type was %s and is %s", was.Type, is.Type)
	case was.SessionName != is.SessionName:
		return fmt.Sprintf("its session was named %s and is named %s", was.SessionName, is.SessionName)
	case was.Revocation.Epoch != is.Revocation.Epoch:
		return fmt.Sprintf("its epoch was %d and is %d", was.Revocation.Epoch, is.Revocation.Epoch)
	case is.Revocation.NotBefore > was.Revocation.NotBefore:
		return "those that began before " + time.Unix(int64(is.Revocation.NotBefore), 0).UTC().Format(time.RFC3339) + " are revoked"
	case was.Cookie != nil && is.Cookie != nil && !strings.EqualFold(was.Cookie.Domain, is.Cookie.Domain):
		return fmt.Sprintf("its cookie had the domain %q and has %q", was.Cookie.Domain, is.Cookie.Domain)
	}
	return ""
}
