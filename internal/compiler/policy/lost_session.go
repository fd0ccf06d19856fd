package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// ruleIndex is the rules of an input: those of each route, and the rule that would have a scope if it had a session.
type ruleIndex struct {
	routes  map[object.Ref]*gateway.Route
	byScope map[string]ruleKey
	// sessions are those of each rule by the scope that it would have by itself.
	sessions map[string][]*Decision
}

func newRuleIndex(of []*Sessions) *ruleIndex {
	x := &ruleIndex{map[object.Ref]*gateway.Route{}, map[string]ruleKey{}, map[string][]*Decision{}}
	for _, s := range of {
		for _, path := range s.paths {
			own := path.ownScope()
			x.sessions[own] = append(x.sessions[own], path)
		}
		for _, route := range s.routes {
			x.routes[route.Ref()] = route
			for i := range route.Value.Spec.Rules {
				x.byScope[RuleIdentity(route, i).Scope()] = ruleKey{nil, route, i}
			}
		}
	}
	return x
}

// ownScope is what the rule's tokens are bound to if they are bound to the rule.
func (d *Decision) ownScope() string { return RuleIdentity(d.Route, d.Rule).Scope() }

// findRebound gives a session of the same rule that other rules of its route share now and did not, or the other way
// round; nil if the rule has the session still.
func (x *ruleIndex) findRebound(was *Decision) *Decision {
	own := x.sessions[was.ownScope()]
	if slices.ContainsFunc(own, func(is *Decision) bool { return is.Scope == was.Scope }) {
		return nil
	}
	i := slices.IndexFunc(own, func(is *Decision) bool { return is.ofRoute != was.ofRoute })
	if i < 0 {
		return nil
	}
	return own[i]
}

// describeLoss says why there is no session with a scope any more, and where.
func describeLoss(was *Decision, rules *ruleIndex) (route *gateway.Route, rule int, why string) {
	id := RuleIdentity(was.Route, was.Rule)
	route = rules.routes[was.Route.Ref()]
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
		return "those that began before " + time.Unix(int64(is.Revocation.NotBefore), 0).
			UTC().
			Format(time.RFC3339) +
			" are revoked"
	case was.Cookie != nil && is.Cookie != nil && !strings.EqualFold(was.Cookie.Domain, is.Cookie.Domain):
		return fmt.Sprintf("its cookie had the domain %q and has %q", was.Cookie.Domain, is.Cookie.Domain)
	case was.Envelope != is.Envelope:
		return fmt.Sprintf("its envelope was %t and is %t", was.Envelope, is.Envelope)
	case isShorter(was.AbsoluteTimeout, is.AbsoluteTimeout):
		return fmt.Sprintf("its absoluteTimeout was %s and is %s, and those that began longer ago than that are over",
			nameTimeout(was.AbsoluteTimeout), nameTimeout(is.AbsoluteTimeout))
	case isShorter(was.IdleTimeout, is.IdleTimeout):
		return fmt.Sprintf("its idleTimeout was %s and is %s, and those without a request for longer than that are over",
			nameTimeout(was.IdleTimeout), nameTimeout(is.IdleTimeout))
	}
	return ""
}

// isShorter tells whether a timeout ends sessions that the one before let live; 0 is none.
func isShorter(was, is policyconfig.Duration) bool { return is != 0 && (was == 0 || is < was) }

func nameTimeout(d policyconfig.Duration) string {
	if d == 0 {
		return "none"
	}
	return d.String()
}
