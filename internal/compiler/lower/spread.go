package lower

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// Spread is how the requests of a rule that no session pins are spread over one backend's hosts, and how often they
// are tried again, for those who describe it.
type Spread struct {
	Route   *gateway.Route
	Rule    int
	Backend ladder.Object
	// Ways lead through each listener on which it is so, to the one backend.
	Ways    []ladder.Way
	Balance loadbalancing.Outcome
	// Held is what policies say of retries, nil for nothing; Budget is what holds of it, nil for none, and Unbudgeted
	// says why then.
	Held       *retrybudget.Held
	Budget     *ir.RetryBudget
	Unbudgeted string
	// Tries is of the rule as a whole, and of all its requests; nil where it says nothing of times and retries.
	Tries *Tries
}

// spreads notes how a rule's requests get to its backends; nothing where it serves none.
func spreads(route *gateway.Route, index int, decided *policy.Rule, choices []choice, tries *Tries) (all []*Spread) {
	if decided.Refused {
		return nil
	}
	for _, c := range choices {
		if c.backend != nil {
			all = append(all, &Spread{
				Route: route, Rule: index, Backend: c.backend.Object, Balance: c.outcome, Held: c.held, Budget: c.budget, Unbudgeted: c.unbudgeted,
				Tries: tries,
			})
		}
	}
	return all
}

// through notes that a rule is met on a listener.
func (r *rule) through(l *gateway.Listener) {
	if slices.Contains(r.met, l) {
		return
	}
	r.met = append(r.met, l)
	for _, s := range r.spreads {
		way := ladder.Way{
			Class: string(l.Gateway().Value.Spec.GatewayClassName), Gateway: l.Gateway().Source().Object, Listener: l.Name(),
			Route: s.Route.Source().Object, Backends: []ladder.Object{s.Backend},
		}
		if name := s.Route.Value.Spec.Rules[s.Rule].Name; name != nil {
			way.Rule = string(*name)
		}
		s.Ways = append(s.Ways, way)
	}
}
