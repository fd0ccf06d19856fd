package lower

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// BackendTraffic is how the requests of a rule that no session pins are spread over one backend's hosts, and how often
// they are tried again, for those who describe it.
type BackendTraffic struct {
	Route   *gateway.Route
	Rule    int
	Backend object.TargetRef
	// Paths lead through each listener on which it is so, to the one backend.
	Paths         []precedence.TrafficPath
	LoadBalancing loadbalancing.Outcome
	// EffectiveBudget is the budget by precedence, nil for none. RetryBudget is what the backend gets of it; where that is
	// nil, NoBudgetReason says why.
	EffectiveBudget *retrybudget.EffectiveBudget
	RetryBudget     *ir.RetryBudget
	NoBudgetReason  string
	// Retries is of the rule as a whole, and of all its requests; nil where it says nothing of times and retries.
	Retries *RetryOutcome
}

// listBackendTraffic notes how a rule's requests get to its backends; nothing where it serves none.
func listBackendTraffic(
	route *gateway.Route, index int, decided *policy.Rule, choices []choice, retries *RetryOutcome,
) (all []*BackendTraffic) {
	if decided.Refused {
		return nil
	}
	for _, c := range choices {
		if c.backend != nil {
			all = append(all, &BackendTraffic{
				Route: route, Rule: index, Backend: c.backend.Target(), LoadBalancing: c.outcome, Retries: retries,
				EffectiveBudget: c.effectiveBudget, RetryBudget: c.budget, NoBudgetReason: c.noBudgetReason,
			})
		}
	}
	return all
}

// addListener notes that a rule is met on a listener.
func (r *loweredRule) addListener(l *gateway.Listener) {
	if slices.Contains(r.listeners, l) {
		return
	}
	r.listeners = append(r.listeners, l)
	for _, s := range r.traffic {
		path := precedence.TrafficPath{
			Class: string(l.Gateway().Value.Spec.GatewayClassName), Gateway: l.Gateway().Ref(), Listener: l.Name(),
			Route: s.Route.Ref(), Backends: []object.TargetRef{s.Backend},
		}
		if name := s.Route.Value.Spec.Rules[s.Rule].Name; name != nil {
			path.Rule = string(*name)
		}
		s.Paths = append(s.Paths, path)
	}
}
