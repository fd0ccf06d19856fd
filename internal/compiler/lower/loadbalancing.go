package lower

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// assignBalancing gives each choice its strategy, and what is hashed of the rule's requests.
func (l *lowerer) assignBalancing(route *gateway.Route, index int, decided *policy.Rule, choices []choice) []ir.Hash {
	atLimit := func(p object.Ref) bool { return l.Decisions.AncestorLimit.Reached(p, decided.Gateway()) }
	rule, silent := loadbalancing.Rule{SharedSession: len(decided.Sessions) > 0 && !decided.PerBackend}, true
	for _, c := range choices {
		var service object.TargetRef
		if c.backend != nil {
			service = c.backend.Target()
		}
		candidates := l.LoadBalancing.Candidates(route, index, service, atLimit)
		rule.Candidates = append(rule.Candidates, candidates)
		silent = silent && len(candidates) == 0
	}
	if silent {
		return nil // every choice is as good as any other
	}
	rule.Name = fmt.Sprintf("%s rule %d", route, index)
	for _, s := range decided.Sessions {
		if s.Effective.Type() == policyconfig.TypeCookie {
			rule.SessionCookies = append(rule.SessionCookies, s.Name)
		}
	}
	outcomes, hashes := rule.Resolve(l.rep)
	for i := range choices {
		choices[i].balancing, choices[i].outcome = outcomes[i].Strategy, outcomes[i]
	}
	l.checkHosts(rule.Name, choices)
	return hashes
}

// assignBudgets gives each choice the retry budget of its Service, unless the policy's status has no room for the
// Gateway (S63).
func (l *lowerer) assignBudgets(route *gateway.Route, path *field.Path, decided *policy.Rule, choices []choice) {
	for i := range choices {
		c := &choices[i]
		if c.backend == nil {
			continue
		}
		c.effectiveBudget = l.RetryBudgets.For(c.backend.Service)
		switch {
		case c.effectiveBudget == nil || c.effectiveBudget.Budget == nil:
		case l.Decisions.AncestorLimit.Reached(c.effectiveBudget.Policy, decided.Gateway()):
			c.noBudgetReason = fmt.Sprintf("%s has no room for %s in its status", c.effectiveBudget.Policy, decided.Gateway())
		default:
			c.budget = c.effectiveBudget.Budget
		}
	}
	if len(decided.Sessions) > 0 && !decided.PerBackend && !decided.Refused {
		l.unifyBudgets(route, path, choices)
	}
}

// unifyBudgets gives backends under one session the budget that all of them have: they share a cluster. Where budgets
// differ none is effective, which is reported.
func (l *lowerer) unifyBudgets(route *gateway.Route, path *field.Path, choices []choice) {
	var all []*choice
	for i := range choices {
		if choices[i].backend != nil {
			all = append(all, &choices[i])
		}
	}
	for _, c := range all {
		a, b := c.budget, all[0].budget
		if (a == nil) == (b == nil) && (a == nil || *a == *b) {
			continue
		}
		l.rep.WarnAt(report.BalancingNotHonoured, route, path.Child("backendRefs").String(), fmt.Sprintf(
			"Services %s and %s have different retry budgets and are under one session: none is effective here",
			all[0].backend.Service, c.backend.Service))
		for _, c := range all {
			c.budget, c.noBudgetReason = nil, "the Services under one session have different retry budgets"
		}
		return
	}
}

// checkNearby warns of trafficDistribution on backends under one session. There Envoy's localities stand for backends,
// and not for zones.
func (l *lowerer) checkNearby(route *gateway.Route, path *field.Path, choices []choice) {
	for _, c := range choices {
		if c.backend != nil && c.backend.TrafficDistribution != "" {
			l.rep.WarnAt(report.BalancingNotHonoured, route, path.Child("backendRefs").String(), fmt.Sprintf(
				"Service %s wants trafficDistribution %s, which a split under one session can't have: its weights go by locality",
				c.backend.Service, c.backend.TrafficDistribution))
		}
	}
}

// checkMerge warns of backends that can't be under one session because their protocols differ (S37).
func (l *lowerer) checkMerge(route *gateway.Route, path *field.Path, decided *policy.Rule) {
	if decided.Sessions[0].Release != sessionapi.Release17 {
		l.rep.WarnAt(report.BalancingNotHonoured, route, path.Child("backendRefs").String(),
			"some of the backends speak HTTP/1.1 and others HTTP/2, so that they can't be under one session: "+
				"the weights choose among them on every request, and each has a session of its own")
	}
}
