package policy

import (
	"reflect"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// shareRules puts together what was decided for each rule on each listener, and which of these hold there: listeners
// share a rule for which the same was decided on all of them. Where that differs, the rule has route and policy names
// of its own on each, because the filter tells policies apart by the route's name.
func shareRules(
	rules []*attachedRule, configured []*configuredRule, limit *ancestors.Limit,
) (decided []*Rule, shared map[ruleKey]*Rule) {
	decided, shared = make([]*Rule, len(rules)), make(map[ruleKey]*Rule, len(rules))
	for i, at := range rules {
		decided[i] = newRule(at, configured[i])
		decided[i].AncestorLimited = len(listLimited(decided[i], limit)) > 0
	}
	for rest := decided; len(rest) > 0; { // those of one rule are next to each other
		n := slices.IndexFunc(rest, func(r *Rule) bool { return !r.isOfSameRule(rest[0]) })
		if n < 0 {
			n = len(rest)
		}
		shareRule(rest[:n], limit, shared)
		rest = rest[n:]
	}
	return decided, shared
}

// isOfSameRule reports whether two are about one rule, on several listeners.
func (r *Rule) isOfSameRule(o *Rule) bool {
	return r.at.rule == o.at.rule && (r.at.route == o.at.route || r.at.route.Ref() == o.at.route.Ref())
}

// shareRule is shareRules for one rule.
func shareRule(listeners []*Rule, limit *ancestors.Limit, shared map[ruleKey]*Rule) {
	first := listeners[0]
	differ := slices.ContainsFunc(listeners[1:], func(r *Rule) bool { return !isSame(r, first, limit) })
	for _, r := range listeners {
		if differ {
			r.qualifyNames()
			shared[r.at.ruleKey] = r
		} else {
			shared[r.at.ruleKey] = first
		}
	}
}

// isSame reports whether two listeners' rules are one in everything that a proxy does.
func isSame(r, o *Rule, limit *ancestors.Limit) bool {
	if !slices.Equal(listLimited(r, limit), listLimited(o, limit)) {
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

// listLimited lists the policies about load balancing and retries that would hold for a rule if their status could list
// its Gateway. What becomes of sessions is in the rule itself.
func listLimited(r *Rule, limit *ancestors.Limit) []object.Ref {
	if limit == nil {
		return nil
	}
	return slices.DeleteFunc(
		limit.PoliciesOff(r.at.trafficPath()),
		func(p object.Ref) bool { return p.Kind == object.KindSessionPolicy },
	)
}

// qualifyNames puts the listener into the names of a rule's routes and policies.
func (r *Rule) qualifyNames() {
	end := "/listener/" + r.at.listener.Key()
	r.Routes = appendToEach(r.Routes, end)
	for _, s := range r.Sessions {
		s.Policies = slices.Clone(s.Policies)
		for i := range s.Policies {
			p := &s.Policies[i]
			p.Name, p.Routes = truncateName(p.Name+end, policyconfig.MaxName), appendToEach(p.Routes, end)
		}
	}
}

func appendToEach(names []string, end string) []string {
	names = slices.Clone(names)
	for i := range names {
		names[i] += end
	}
	return names
}
