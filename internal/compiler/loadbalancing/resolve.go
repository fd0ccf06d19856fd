package loadbalancing

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Rule is a rule's backends and what they have in common.
type Rule struct {
	// Name is how authors read of it, such as "HTTPRoute shop/cart rule 0".
	Name string
	// Candidates are the policies that apply to each backend, strongest first.
	Candidates [][]Candidate
	// SharedSession says that all backends are balanced as one, under one session.
	SharedSession bool
	// SessionCookies are the names of the rule's own cookies. None of them may be hashed: a cookie that Envoy makes for
	// the hash would overwrite the token.
	SessionCookies []string
}

// Outcome is how requests are spread over one backend's hosts.
type Outcome struct {
	Strategy ir.Balancing
	// Policy is the effective policy; nil for none.
	Policy *Policy
	// Candidates are the policies that apply to the backend, strongest first.
	Candidates []Candidate
	// Hashes are the attributes that are hashed under RequestHash.
	Hashes []Hash
	// Note says why Policy does not hold as it is written; empty if it does.
	Note string
}

// Hash is an attribute that is hashed, and the path of its field in the policy.
type Hash struct {
	ir.Hash
	Path string
}

// Resolve returns each backend's outcome, and the rule's one list of hashes: a proxy hashes a request before it chooses
// the backend. Of several lists the oldest policy's is effective, and the Services of the others get RoundRobin.
// Backends under one session get the strategy of the oldest policy, even those without a policy: a session would move
// everybody there in time (S36). What does not hold is reported.
func (r Rule) Resolve(rep *report.Report) ([]Outcome, []ir.Hash) {
	outcomes, settings := make([]Outcome, len(r.Candidates)), make([]setting, len(r.Candidates))
	for i, candidates := range r.Candidates {
		outcomes[i] = Outcome{Policy: findEffective(candidates), Candidates: candidates}
		if p := outcomes[i].Policy; p != nil {
			settings[i], outcomes[i].Note = r.computeSetting(p, rep)
		}
		outcomes[i].Strategy = settings[i].strategy
	}
	primary := r.findPrimary(outcomes)
	if primary < 0 {
		return outcomes, nil
	}
	for i := range outcomes {
		r.align(&outcomes[i], settings[i], outcomes[primary].Policy, settings[primary], rep)
	}
	return outcomes, settings[primary].listHashes()
}

// align fits a backend's outcome to the rule's primary policy.
func (r Rule) align(o *Outcome, own setting, primary *Policy, primarySetting setting, rep *report.Report) {
	switch {
	case r.SharedSession:
		if o.Policy != nil && (!own.equal(primarySetting) || !o.Policy.hosts.Equal(primary.hosts)) {
			r.reportOverridden(o.Policy, primary, "is effective for all backends, which are under one session", rep)
		}
		o.Strategy = primarySetting.strategy
		if o.Policy != primary {
			o.Policy, o.Note = primary, "is effective for all backends, which are under one session"
		}
	case own.strategy == ir.RequestHash && !own.equal(primarySetting):
		r.reportOverridden(
			o.Policy,
			primary,
			"says what is hashed for all backends: here RoundRobin is used in place of RequestHash",
			rep,
		)
		o.Strategy, o.Note = ir.RoundRobin, primary.Name+", which goes first, says what is hashed for all backends"
	}
	if o.Strategy == ir.RequestHash {
		for _, h := range primarySetting.hashes {
			o.Hashes = append(o.Hashes, Hash{h.Hash, h.path.String()})
		}
	}
}

// setting is a policy's strategy and hashes in a rule.
type setting struct {
	strategy ir.Balancing
	hashes   []hashEntry
}

func (w setting) listHashes() []ir.Hash {
	var all []ir.Hash
	for _, h := range w.hashes {
		all = append(all, h.Hash)
	}
	return all
}

func (w setting) equal(other setting) bool {
	return w.strategy == other.strategy && slices.EqualFunc(w.listHashes(), other.listHashes(), ir.Hash.Equal)
}

// findPrimary returns the index of the primary policy: the oldest that hashes or, under a shared session, the oldest of
// all; -1 if there is none.
func (r Rule) findPrimary(outcomes []Outcome) int {
	first := -1
	for i, o := range outcomes {
		if o.Policy == nil || !r.SharedSession && o.Strategy != ir.RequestHash {
			continue
		}
		if first < 0 || o.Policy.rank < outcomes[first].Policy.rank {
			first = i
		}
	}
	return first
}

func (r Rule) reportOverridden(p, primary *Policy, why string, rep *report.Report) {
	rep.WarnForAt(report.BalancingNotHonoured,
		p.subject,
		report.ReasonPartiallyProgrammed,
		p.specPath.String(),
		fmt.Sprintf("in %s %s, which goes first, %s", r.Name, primary.Name, why),
	)
}

// computeSetting returns a policy's strategy and hashes, without the cookies of the rule's sessions, and a note of what
// was left out.
func (r Rule) computeSetting(p *Policy, rep *report.Report) (w setting, note string) {
	for _, h := range p.hashes {
		if h.Cookie != "" && slices.Contains(r.SessionCookies, h.Cookie) {
			note = "the cookie " + h.Cookie + " has a session in it, and is not hashed"
			rep.WarnForAt(report.BalancingNotHonoured, p.subject, report.ReasonPartiallyProgrammed, h.path.String(), fmt.Sprintf(
				"%s has its session in the cookie %s, which is not hashed there: the entry is ignored", r.Name, h.Cookie))
			continue
		}
		w.hashes = append(w.hashes, h)
	}
	w.strategy = p.strategy
	if p.strategy == ir.RequestHash && len(w.hashes) == 0 {
		rep.WarnForAt(report.BalancingNotHonoured,
			p.subject,
			report.ReasonPartiallyProgrammed,
			p.specPath.String(),
			fmt.Sprintf("no entry is left in %s: RoundRobin is used there", r.Name),
		)
		return setting{}, note + ": no entry is left"
	}
	return w, note
}

// StrategyName is the strategy in the API's words: as the policy has it, or RoundRobin where that does not hold.
func (o *Outcome) StrategyName() string {
	if o.Policy == nil || o.Strategy != o.Policy.strategy {
		return string(v1alpha1.RoundRobin)
	}
	return string(o.Policy.strategyName)
}

// StrategyName is the policy's strategy in the API's words, RoundRobin where it is not valid.
func (p *Policy) StrategyName() string { return string(p.strategyName) }

// StrategyPath leads to the strategy in the policy's object.
func (p *Policy) StrategyPath() string { return p.specPath.Child("strategy").String() }
