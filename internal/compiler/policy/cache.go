package policy

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps what the steps have made of policies and rules from one compilation to the next. It serves one at a time.
// The zero value keeps nothing. The steps of [Cache.Decide] that are not in it are taken again.
type Cache struct {
	targets    *memo.Table[memo.Whole, targetInputs, *Targets]
	validated  *memo.Table[object.Ref, policyInputs, *validatedPolicy]
	order      *memo.SortOrder[ruleKey]
	claimed    *memo.Table[locationKey, *ruleInput, *claimedRule]
	shared     *memo.Table[locationKey, shareInput, *claimedRule]
	configured *memo.Table[locationKey, *namedRule, *configuredRule]
}

// NewCache makes an empty one.
func NewCache() Cache {
	return Cache{
		targets:    memo.NewTable[memo.Whole, targetInputs, *Targets]("targets"),
		validated:  memo.NewTable[object.Ref, policyInputs, *validatedPolicy]("policies"),
		order:      memo.NewSortOrder[ruleKey]("order of rules"),
		claimed:    memo.NewTable[locationKey, *ruleInput, *claimedRule]("resolved rules"),
		shared:     memo.NewTable[locationKey, shareInput, *claimedRule]("rules that share sessions"),
		configured: memo.NewTable[locationKey, *namedRule, *configuredRule]("configured rules"),
	}
}

// Steps are what it keeps.
func (c Cache) Steps() []memo.Step {
	return []memo.Step{c.targets, c.validated, c.order, c.claimed, c.shared, c.configured}
}

// targetInputs are everything that Targets are made from.
type targetInputs struct{ objects *resource.Objects }

// Key is that of the one index that there is.
func (in targetInputs) Key() memo.Whole { return memo.Whole{} }

// Equal reports whether policies can be attached to the same objects.
func (in targetInputs) Equal(other targetInputs) bool { return in.objects.Equal(other.objects) }

// policyInputs are everything that a validatedPolicy is made from.
type policyInputs struct {
	policy *resource.Object[sessionPolicy]
}

// Key names the policy.
func (in policyInputs) Key() object.Ref { return in.policy.Ref() }

// Equal reports whether it is the same policy, unchanged.
func (in policyInputs) Equal(other policyInputs) bool { return in == other }

// locationKey names a rule on a listener.
type locationKey struct {
	route    *gateway.Route
	rule     int
	gateway  object.Ref
	listener string
}

// Key names the rule on its listener.
func (in *ruleInput) Key() locationKey {
	return locationKey{in.route, in.rule, in.gateway, in.listener}
}

// Equal reports whether two rules have the same sessions, backends' endpoints aside.
func (in *ruleInput) Equal(other *ruleInput) bool {
	return in.ruleLocation == other.ruleLocation &&
		slices.Equal(in.hostnames, other.hostnames) &&
		slices.Equal(in.backends, other.backends) &&
		slices.Equal(in.refusals, other.refusals) &&
		slices.Equal(in.lost, other.lost) &&
		slices.EqualFunc(in.blocksByPath, other.blocksByPath, slices.Equal) &&
		slices.EqualFunc(in.blocksByBackend, other.blocksByBackend, slices.Equal)
}

// Equal reports whether two rules are the same and have the same names for their sessions.
func (n *namedRule) Equal(other *namedRule) bool {
	return n.claimedRule == other.claimedRule && slices.Equal(n.names, other.names)
}

// findTargets is the step of that name.
func (c Cache) findTargets(objects *resource.Objects) *Targets {
	return c.targets.Get(targetInputs{objects.Attachable()}, findTargets)
}

// validatePolicies is validatePolicy for each SessionPersistencePolicy.
func (c Cache) validatePolicies(objects *resource.Objects) []*validatedPolicy {
	inputs := make([]policyInputs, len(objects.SessionPolicies))
	for i, p := range objects.SessionPolicies {
		inputs[i].policy = p
	}
	return c.validated.GetAll(inputs, validatePolicy)
}

// sortRules puts rules into the order of ruleKey.compare.
func (c Cache) sortRules(rules []ruleKey) []ruleKey {
	return memo.Sort(c.order, rules, func(k ruleKey) ruleKey { return k }, ruleKey.compare)
}

// resolveAndClaim is resolveRule and claimNames for each rule: one step to keep, because nothing else needs the first.
func (c Cache) resolveAndClaim(inputs []*ruleInput) []*claimedRule {
	return c.claimed.GetAll(inputs, func(in *ruleInput) *claimedRule { return claimNames(resolveRule(in), nil) })
}

// configureRules is configureRule for each rule.
func (c Cache) configureRules(rules []*namedRule) []*configuredRule {
	return c.configured.GetAll(rules, configureRule)
}
