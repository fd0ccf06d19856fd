package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// routeShare is what a policy for its route comes to for a rule that the policy wants to share its sessions with the
// others (S22).
type routeShare struct {
	// path is the cookie's where no level writes one: what the paths of all that share have in common.
	path string
	// apart says why the rule keeps sessions of its own; empty if it shares.
	apart string
}

// shareInput is everything that a rule which may share the sessions of its route is claimed by.
type shareInput struct {
	*resolvedRule
	share routeShare
}

// Equal reports whether the rule comes to the same.
func (in shareInput) Equal(other shareInput) bool { return in == other }

// shareSessions has the rules of each route share their sessions where a policy for the route says so.
func (c Cache) shareSessions(rules []*claimedRule, held HeldNames) []*claimedRule {
	if !slices.ContainsFunc(rules, (*claimedRule).wantsRoute) {
		return rules
	}
	shared := slices.Clone(rules)
	for first := 0; first < len(rules); { // those of one route are next to each other
		end := first + 1
		for end < len(rules) && rules[end].route.Ref() == rules[first].route.Ref() {
			end++
		}
		g := newRouteGroup(rules[first:end], held)
		for i := first; i < end; i++ {
			if share, wanted := g.shares[rules[i].rule]; wanted && rules[i].wantsRoute() {
				shared[i] = c.shared.Get(shareInput{rules[i].resolvedRule, share}, claimInRoute)
			}
		}
		first = end
	}
	return shared
}

func claimInRoute(in shareInput) *claimedRule { return claimNames(in.resolvedRule, &in.share) }

// wantsRoute reports whether a policy wants the rule to share sessions of its own with its route's.
func (r *claimedRule) wantsRoute() bool {
	return len(r.route.Value.Spec.Rules[r.rule].BackendRefs) > 0 && !r.isRefused() &&
		slices.ContainsFunc(r.claims, (*claim).wantsRoute)
}

// wantsRoute is that of one session. Those of an XBackend's own block are all of its rules' already.
func (c *claim) wantsRoute() bool {
	return c.effective.IsOfRoute() && c.effective.TurnedOnBy.Level != precedence.InlineXBackend
}

// routeGroup is the rules of a route by whether they share their sessions.
type routeGroup struct {
	rules  map[int][]*claimedRule // each on its listeners
	order  []int                  // in which they are asked
	shares map[int]routeShare
}

// newRouteGroup decides which rules of a route share: those that did in the last result first, then the others in their
// order. So a rule that comes while limpet watches ends nobody's session, wherever in the route it stands.
func newRouteGroup(rules []*claimedRule, held HeldNames) *routeGroup {
	g := &routeGroup{rules: map[int][]*claimedRule{}, shares: map[int]routeShare{}}
	had := func(rule int) bool { return held[RuleIdentity(rules[0].route, rule).Scope()].Shares }
	for _, r := range rules {
		if !r.wantsRoute() {
			continue
		}
		if g.rules[r.rule] == nil {
			g.order = append(g.order, r.rule)
		}
		g.rules[r.rule] = append(g.rules[r.rule], r)
	}
	slices.SortStableFunc(g.order, func(a, b int) int {
		switch {
		case had(a) == had(b):
			return 0
		case had(a):
			return -1
		}
		return 1
	})
	var joined []int
	for _, rule := range g.order {
		if apart := g.findApart(rule, joined); apart != "" {
			g.shares[rule] = routeShare{apart: apart}
		} else {
			joined = append(joined, rule)
		}
	}
	path := g.findCommonPath(joined)
	for _, rule := range joined {
		g.shares[rule] = routeShare{path: path}
	}
	return g
}

// findApart says what keeps a rule apart from those that share, on any listener; empty if nothing does.
func (g *routeGroup) findApart(rule int, joined []int) string {
	for _, other := range joined {
		for _, a := range g.rules[rule] {
			for _, b := range g.rules[other] {
				if a.gateway != b.gateway || a.listener != b.listener {
					continue
				}
				if why := a.explainApart(b); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// findCommonPath is the longest path that all matches of some rules are at or below.
func (g *routeGroup) findCommonPath(rules []int) (common string) {
	for _, rule := range rules {
		r := g.rules[rule][0]
		for m := range r.countMatches() {
			path := r.derivePath(m)
			if common == "" {
				common = path
			}
			for !cookieCovers(common, path) {
				common = common[:max(1, strings.LastIndexByte(common, '/'))]
			}
		}
	}
	return common
}

// explainApart says why two rules can't have the same sessions; empty if they can.
func (r *claimedRule) explainApart(o *claimedRule) string {
	if r.perBackend != o.perBackend && len(r.backends) > 0 && len(o.backends) > 0 {
		return fmt.Sprintf("of it and rule %d one has a session for each backend, and the other one session for all", o.rule)
	}
	own, others := r.listReferences(), o.listReferences()
	common := slices.ContainsFunc(own, func(b reference) bool { return slices.Contains(others, b) })
	one := !r.perBackend && !o.perBackend // session for all backends
	lacks, lacking := one && lacksOneOf(own, others), one && lacksOneOf(others, own)
	switch {
	case !common:
		return fmt.Sprintf("it has no backend in common with rule %d", o.rule)
	case lacks && lacking:
		return fmt.Sprintf(
			"it and rule %d have each a backend that the other lacks: sessions would go to and fro between these",
			o.rule,
		)
	case lacks && r.claims[0].isStrict():
		return fmt.Sprintf("it lacks a backend of rule %d, and by onHostLost: Fail the sessions there would not move", o.rule)
	case lacking && o.claims[0].isStrict():
		return fmt.Sprintf("rule %d lacks a backend of it, and by onHostLost: Fail the sessions there would not move", o.rule)
	}
	if field := r.findDifference(o); field != "" {
		return fmt.Sprintf("its %s is not that of rule %d", field, o.rule)
	}
	return ""
}

// reference is a backend as a rule refers to it.
type reference struct {
	object.Ref
	port gatewayv1.PortNumber
}

// listReferences lists the backends of the rule, those that can't be resolved among them: what others do to a backend
// ends no session of other rules (S35).
func (l *ruleLocation) listReferences() (all []reference) {
	for _, b := range l.route.Value.Spec.Rules[l.rule].BackendRefs {
		all = append(all, reference{object.Ref{
			Kind:      string(ptr.Deref(b.Kind, object.KindService)),
			Namespace: string(ptr.Deref(b.Namespace, gatewayv1.Namespace(l.route.Namespace))), Name: string(b.Name),
		}, ptr.Deref(b.Port, 0)})
	}
	return all
}

// lacksOneOf reports whether sessions may be in one of the other backends that is none of a rule's own.
func lacksOneOf(own, others []reference) bool {
	return slices.ContainsFunc(others, func(b reference) bool { return !slices.Contains(own, b) })
}

// findDifference gives the field in which sessions differ that two rules would share; empty if they are alike.
func (r *claimedRule) findDifference(o *claimedRule) string {
	for _, c := range r.claims {
		for _, d := range o.claims {
			if c.isBeside(d) || !c.wantsRoute() || !d.wantsRoute() {
				continue
			}
			if field := c.findDifference(d); field != "" {
				return field
			}
		}
	}
	return ""
}

// isStrict reports whether requests of a session fail whose host is not there.
func (c *claim) isStrict() bool {
	f := c.effective.Field("onHostLost")
	return f != nil && f.Value == policyconfig.Fail
}

// isBeside reports whether two sessions are those of different backends.
func (c *claim) isBeside(o *claim) bool {
	return c.backend >= 0 && o.backend >= 0 && c.backends[c.backend] != o.backends[o.backend]
}

// findDifference gives the field in which two sessions differ; empty if they are alike.
func (c *claim) findDifference(o *claim) string {
	if field := c.effective.FindDifference(&o.effective); field != "" || !c.isCookie() {
		return field
	}
	path, fixed := c.fixedPath()
	if other, isFixed := o.fixedPath(); fixed != isFixed || path != other {
		return "cookie.path"
	}
	return ""
}
