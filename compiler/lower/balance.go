package lower

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/balance"
	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/ir"
	"github.com/limpet-proxy/limpet/compiler/ladder"
	"github.com/limpet-proxy/limpet/compiler/policy"
	"github.com/limpet-proxy/limpet/policy-config"
)

// balance gives each choice its strategy, and what is hashed of the rule's requests.
func (l *lowerer) balance(route *gateway.Route, index int, decided *policy.Rule, choices []choice) []ir.Hash {
	rule := balance.Rule{Name: fmt.Sprintf("%s rule %d", route, index), Together: len(decided.Sessions) > 0 && !decided.PerBackend}
	own := l.Balance.ForRule(route, index)
	for _, c := range choices {
		p := own
		if p == nil && c.backend != nil {
			p = l.Balance.ForService(c.backend.Service)
		}
		rule.Policies = append(rule.Policies, p)
	}
	for _, s := range decided.Sessions {
		if s.Effective.Type() == policyconfig.TypeCookie {
			rule.SessionCookies = append(rule.SessionCookies, s.Name)
		}
	}
	strategies, hashes := rule.Settle(l.rep)
	for i := range choices {
		choices[i].balancing = strategies[i]
	}
	return hashes
}

// mergedBudget is the retry budget of backends under one session. A cluster has only one, so it is kept where
// all of them that have hosts agree, and reported where they don't.
func (l *lowerer) mergedBudget(route *gateway.Route, path *field.Path, choices []choice) *ir.RetryBudget {
	var first *ir.RetryBudget
	var of string
	for _, c := range choices {
		if c.backend == nil {
			continue
		}
		budget := l.Budgets.For(c.backend.Service)
		if of == "" {
			first, of = budget, c.backend.Service
		}
		if (budget == nil) != (first == nil) || budget != nil && *budget != *first {
			l.rep.WarnAt(route, path.Child("backendRefs").String(), fmt.Sprintf(
				"Services %s and %s have different retry budgets and are under one session: none holds here", of, c.backend.Service))
			return nil
		}
	}
	return first
}

// checkNearby reports wishes for near endpoints on backends under one session: Envoy's localities, by which it would
// know what is near, stand for the backends there.
func (l *lowerer) checkNearby(route *gateway.Route, path *field.Path, choices []choice) {
	for _, c := range choices {
		if c.backend != nil && c.backend.Nearby != "" {
			l.rep.WarnAt(route, path.Child("backendRefs").String(), fmt.Sprintf(
				"Service %s wants trafficDistribution %s, which a split under one session can't have: its weights go by locality", c.backend.Service, c.backend.Nearby))
		}
	}
}

// checkMerge reports backends that one session would span, had they one protocol (S37).
func (l *lowerer) checkMerge(route *gateway.Route, path *field.Path, decided *policy.Rule) {
	if decided.Sessions[0].Generation != ladder.Gen17 {
		l.rep.WarnAt(route, path.Child("backendRefs").String(),
			"some of the backends speak HTTP/1.1 and others HTTP/2, so that they can't be under one session: the weights choose among them on every request, and each has a session of its own")
	}
}
