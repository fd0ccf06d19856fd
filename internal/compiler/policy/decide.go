package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// Options is what decisions depend on besides the documents.
type Options struct {
	// Release is the one that the user names, Unstated for none (S18).
	Release sessionapi.APIRelease
	// ClassPolicies is the namespace whose policies for GatewayClasses count (S4).
	ClassPolicies string
	// RejectPartial refuses a split with a policy on only one of its Services (S36).
	RejectPartial bool
	// ExternalControlPlane says that a control plane answers requests: a rule that can't have its session goes without.
	ExternalControlPlane bool
	// HidesTokens says that the target can send mirrors the cookies without the token.
	HidesTokens bool
	// Order says which of two routes was there first, and HeldNames are the sessions' names in the last result.
	Order     *seniority.Order
	HeldNames HeldNames
	// AncestorLimit finds the limit for a part of the input, for it depends on other parts; nil for a whole input.
	AncestorLimit func(ancestors.Input) *ancestors.Limit
	// KnowsTermination says that the input tells since when hosts terminate.
	KnowsTermination bool
	// Logged tells whether a header's values are in an access log; nil where none is.
	Logged func(header string) bool
}

// Decide works out which session persistence requests have on every path that they take through the ports. What can't
// be honoured goes to the report.
func (c Cache) Decide(
	objects *resource.Objects,
	ports []gateway.Port,
	backends *backend.Index,
	o Options,
	rep *report.Report,
) *Decisions {
	return c.DecidePart(objects, findTargets(objects), ports, backends, o, rep, rep)
}

// DecidePart is Decide for a part of the input, whose policies may have targets in other parts. Findings about the
// attachment of policies go to the report attaching. Each step returns values of its own type and changes no earlier
// ones. Lists about rules have one entry for each rule, in order.
func (c Cache) DecidePart(
	objects *resource.Objects,
	targets *Targets,
	ports []gateway.Port,
	backends *backend.Index,
	o Options,
	attaching, rep *report.Report,
) *Decisions {
	attached := attachPolicies(objects, targets, c.validatePolicies(objects), o, attaching)
	rules := attachRules(listRules(ports), backends, attached, o, rep)
	limit := findAncestorLimit(objects, targets, attached, rules, o, rep)
	inputs := gatherInputs(rules, attached, limit, o)
	claimed := c.shareSessions(c.resolveAndClaim(inputs), o.HeldNames)
	named := assignNames(claimed, o)
	decided, shared := shareRules(rules, c.configureRules(named), limit)
	noteLimits(decided, o)

	d := newDecisions(attached, limit, named, decided, shared)
	r := &reporter{attached: attached, limit: limit, targets: targets, objects: objects, options: o, rep: rep}
	r.reportAll(decided, d.Renames)
	return d
}

// noteLimits notes, for each session, what of it does not hold as it is written.
func noteLimits(decided []*Rule, o Options) {
	for _, r := range decided {
		for _, s := range r.Sessions {
			s.Limits = o.findLimits(r, s)
		}
	}
}

func newDecisions(
	attached *attachedPolicies, limit *ancestors.Limit, named []*namedRule, decided []*Rule, shared map[ruleKey]*Rule,
) *Decisions {
	d := &Decisions{
		Attachments: attached.attachments, Paths: make([]*Decision, 0, len(decided)), Renames: listRenames(named),
		AncestorLimit: limit,
		rules:         shared, rejected: map[*gateway.Route]bool{}, named: named,
	}
	for _, r := range decided {
		for _, path := range r.paths {
			d.Paths = append(d.Paths, path)
			if path.Rejected {
				d.rejected[path.Route] = true
			}
		}
	}
	return d
}
