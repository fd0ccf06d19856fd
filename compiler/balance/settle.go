package balance

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/ir"
	"github.com/limpet-proxy/limpet/compiler/report"
)

// Rule is a rule's backends and what they have in common.
type Rule struct {
	// Name is how authors read of it, such as "HTTPRoute shop/cart rule 0".
	Name string
	// Policies are those that hold for each backend, nil for none.
	Policies []*Policy
	// Together says that all backends are balanced as one, under one session.
	Together bool
	// SessionCookies are the names of the rule's own cookies. None of them may be hashed into being: Envoy's cookie
	// would overwrite the token.
	SessionCookies []string
}

// Settle gives each backend's strategy and the one list of what is hashed: a proxy hashes a request before it
// chooses the backend. Of several lists the older policy's holds, and the Services of the others are balanced in
// turn; of several strategies for backends that are balanced as one it holds too, and also for a backend without a
// policy, for a session would move everybody there in time (S36). What does not hold is reported.
func (r Rule) Settle(rep *report.Report) ([]ir.Balancing, []ir.Hash) {
	var leader *Policy // among those that hash; with Together among all
	counting := make([][]ir.Hash, len(r.Policies))
	strategies := make([]ir.Balancing, len(r.Policies))
	for i, p := range r.Policies {
		if p == nil {
			continue
		}
		strategies[i], counting[i] = r.effective(p, rep)
		if (r.Together || strategies[i] == ir.RequestHash) && (leader == nil || p.rank < leader.rank) {
			leader = p
		}
	}
	if leader == nil {
		return strategies, nil
	}
	first := slices.Index(r.Policies, leader)
	strategy, list := strategies[first], counting[first]
	for i, p := range r.Policies {
		differs := p != nil && !slices.EqualFunc(counting[i], list, ir.Hash.Equal)
		switch {
		case r.Together:
			if p != nil && p != leader && (differs || strategies[i] != strategy) {
				r.lost(p, leader, "holds for all backends, which are under one session", rep)
			}
			strategies[i] = strategy
		case differs && strategies[i] == ir.RequestHash:
			r.lost(p, leader, "says what is hashed for all backends: here RoundRobin holds in place of RequestHash", rep)
			strategies[i] = ir.RoundRobin
		}
	}
	return strategies, list
}

func (r Rule) lost(p, leader *Policy, why string, rep *report.Report) {
	rep.WarnForAt(p.about, reasonPartial, p.at.String(), fmt.Sprintf("in %s %s, which goes first, %s", r.Name, leader.Name, why))
}

// effective gives what counts of a policy beside the rule's session.
func (r Rule) effective(p *Policy, rep *report.Report) (ir.Balancing, []ir.Hash) {
	var list []ir.Hash
	for _, h := range p.hashes {
		if h.Cookie != "" && slices.Contains(r.SessionCookies, h.Cookie) {
			rep.WarnForAt(p.about, reasonPartial, h.path.String(), fmt.Sprintf(
				"%s has its session in the cookie %s, which is not hashed there: the entry is ignored", r.Name, h.Cookie))
			continue
		}
		list = append(list, h.Hash)
	}
	if p.strategy == ir.RequestHash && len(list) == 0 {
		rep.WarnForAt(p.about, reasonPartial, p.at.String(), fmt.Sprintf("no entry is left in %s: RoundRobin holds there", r.Name))
		return ir.RoundRobin, nil
	}
	return p.strategy, list
}
