package policy

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps what the steps have made of policies and rules from one compilation to the next. It serves one at a time.
// The zero value keeps nothing. [Cache.Decide] repeats the steps whose results are not in it.
type Cache struct {
	validated  *memo.Table[object.Ref, policyInputs, *validatedPolicy]
	claimed    *memo.Table[locationKey, *ruleInput, *claimedRule]
	shared     *memo.Table[locationKey, shareInput, *claimedRule]
	configured *memo.Table[locationKey, *namedRule, *configuredRule]
}

// NewCache makes an empty one.
func NewCache() Cache {
	return Cache{
		validated:  memo.NewTable[object.Ref, policyInputs, *validatedPolicy](),
		claimed:    memo.NewTable[locationKey, *ruleInput, *claimedRule](),
		shared:     memo.NewTable[locationKey, shareInput, *claimedRule](),
		configured: memo.NewTable[locationKey, *namedRule, *configuredRule](),
	}
}

// Steps are what it keeps.
func (c Cache) Steps() []memo.Step {
	return []memo.Step{c.validated, c.claimed, c.shared, c.configured}
}

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

// validatePolicies is validatePolicy for each SessionPersistencePolicy.
func (c Cache) validatePolicies(objects *resource.Objects) []*validatedPolicy {
	inputs := make([]policyInputs, len(objects.SessionPolicies))
	for i, p := range objects.SessionPolicies {
		inputs[i].policy = p
	}
	return c.validated.GetAll(inputs, validatePolicy)
}

// resolveAndClaim is resolveRule and claimNames for each rule: one step to keep, because nothing else needs the first.
func (c Cache) resolveAndClaim(inputs []*ruleInput) []*claimedRule {
	return c.claimed.GetAll(inputs, func(in *ruleInput) *claimedRule { return claimNames(resolveRule(in), nil) })
}

// configureRules is configureRule for each rule.
func (c Cache) configureRules(rules []*namedRule) []*configuredRule {
	return c.configured.GetAll(rules, configureRule)
}
