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
	words := make([]word, len(r.Policies))
	for i, p := range r.Policies {
		if p != nil {
			words[i].strategy, words[i].hashes = r.effective(p, rep)
		}
	}
	strategies := make([]ir.Balancing, len(words))
	first := r.first(words)
	for i, w := range words {
		strategies[i] = w.strategy
		if first < 0 {
			continue
		}
		p, leader := r.Policies[i], r.Policies[first]
		switch {
		case r.Together:
			if p != nil && !w.equal(words[first]) {
				r.lost(p, leader, "holds for all backends, which are under one session", rep)
			}
			strategies[i] = words[first].strategy
		case w.strategy == ir.RequestHash && !w.equal(words[first]):
			r.lost(p, leader, "says what is hashed for all backends: here RoundRobin holds in place of RequestHash", rep)
			strategies[i] = ir.RoundRobin
		}
	}
	if first < 0 {
		return strategies, nil
	}
	return strategies, words[first].hashes
}

// word is what a policy says in a rule.
type word struct {
	strategy ir.Balancing
	hashes   []ir.Hash
}

func (w word) equal(other word) bool {
	return w.strategy == other.strategy && slices.EqualFunc(w.hashes, other.hashes, ir.Hash.Equal)
}

// first gives the index of the policy that leads, the oldest of those that hash, and with Together of all; -1 if
// there is none.
func (r Rule) first(words []word) int {
	first := -1
	for i, p := range r.Policies {
		if p == nil || !r.Together && words[i].strategy != ir.RequestHash {
			continue
		}
		if first < 0 || p.rank < r.Policies[first].rank {
			first = i
		}
	}
	return first
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
