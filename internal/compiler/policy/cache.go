package policy

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps what the steps have made of policies and rules from one compilation to the next. It serves one at a time.
// The zero value keeps nothing that is costly.
type Cache struct {
	targets    *targetIndex
	order      *memo.SortOrder[ruleKey]
	policies   *memo.Table[*resource.Object[sessionPolicy], *validatedPolicy]
	named      *memo.Table[locationKey, *namedRule]
	configured *memo.Table[*resolvedRule, *configuredRule]
}

// NewCache gives an empty one.
func NewCache() *Cache {
	return &Cache{
		order:      &memo.SortOrder[ruleKey]{},
		policies:   &memo.Table[*resource.Object[sessionPolicy], *validatedPolicy]{},
		named:      &memo.Table[locationKey, *namedRule]{},
		configured: &memo.Table[*resolvedRule, *configuredRule]{},
	}
}

// Sweep forgets what was not asked for since the last time.
func (c *Cache) Sweep() {
	c.policies.Sweep()
	c.named.Sweep()
	c.configured.Sweep()
}

// findTargets is newTargetIndex, which depends on these objects alone.
func (c *Cache) findTargets(objects *resource.Objects) *targetIndex {
	own := objects.Attachable()
	if c.targets == nil || !c.targets.objects.Equal(own) {
		c.targets = newTargetIndex(own)
	}
	return c.targets
}

// validatePolicies is validatePolicy for each of them, which depends on nothing else. Objects do not change.
func (c *Cache) validatePolicies(policies []*resource.Object[sessionPolicy]) []*validatedPolicy {
	same := func(*validatedPolicy) bool { return true }
	return parallel.Map(policies, func(some []*resource.Object[sessionPolicy], results []*validatedPolicy) {
		for i, p := range some {
			results[i] = c.policies.Get(p, same, func() *validatedPolicy { return validatePolicy(p) })
		}
	})
}

// sortRules puts rules into the order of ruleKey.compare.
func (c *Cache) sortRules(rules []ruleKey) []ruleKey {
	return memo.Sort(c.order, rules, func(k ruleKey) ruleKey { return k }, ruleKey.compare)
}

// locationKey names a rule on a listener.
type locationKey struct {
	route    *gateway.Route
	rule     int
	gateway  object.Ref
	listener string
}

// nameRules is resolveRule and nameSessions for each rule, which depend on its input alone.
func (c *Cache) nameRules(inputs []*ruleInput) []*namedRule {
	return parallel.Map(inputs, func(some []*ruleInput, results []*namedRule) {
		for i, in := range some {
			same := func(n *namedRule) bool { return n.resolved.ruleInput.equal(in) }
			key := locationKey{in.route, in.rule, in.gateway, in.listener}
			results[i] = c.named.Get(key, same, func() *namedRule { return nameSessions(resolveRule(in)) })
		}
	})
}

// configureRules is configureRule for each rule, which depends on what it was resolved to and on its sessions' names.
func (c *Cache) configureRules(rules []*namedRule) []*configuredRule {
	return parallel.Map(rules, func(some []*namedRule, results []*configuredRule) {
		for i, n := range some {
			same := func(r *configuredRule) bool {
				return r.named == n || slices.EqualFunc(r.named.sessions, n.sessions, sameName)
			}
			results[i] = c.configured.Get(n.resolved, same, func() *configuredRule { return configureRule(n) })
		}
	})
}

func sameName(a, b *namedSession) bool { return a.name == b.name }
