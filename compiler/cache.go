package compiler

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Cache keeps what a process that compiles again and again need not do twice. It serves one compilation at a time, and
// one input: it forgets what the last compilation did not have. What comes out does not depend on it.
//
// It has a part for each step whose results are kept; see package memo. The steps themselves know nothing of it. The
// zero value keeps nothing.
type Cache struct {
	resources resource.Cache
	steps     pipeline.Cache
	// policies is the order of the plugin's policies, and texts is what is written for them.
	policies *memo.SortOrder[string]
	texts    *memo.Table[plugin.TextKey, plugin.TextInputs, plugin.Text]
	rendered envoy.Renderer
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{
		resources: resource.NewCache(),
		steps:     pipeline.NewCache(),
		policies:  memo.NewSortOrder[string]("order of policies"),
		texts:     memo.NewTable[plugin.TextKey, plugin.TextInputs, plugin.Text]("policy texts"),
		rendered:  envoy.NewRenderer(),
	}
}

// StepSize is how many results a cache keeps of a step.
type StepSize struct {
	Step    string
	Entries int
}

// Sizes tells how much the cache keeps, step by step.
func (c *Cache) Sizes() []StepSize {
	steps := c.allSteps()
	sizes := make([]StepSize, len(steps))
	for i, s := range steps {
		sizes[i] = StepSize{s.Name(), s.Len()}
	}
	return sizes
}

// allSteps are those that results are kept of, in the order in which they are taken.
func (c *Cache) allSteps() []memo.Step {
	return slices.Concat(c.resources.Steps(), c.steps.Steps(), []memo.Step{c.policies, c.texts}, c.rendered.Steps())
}

// endCompilation forgets what the compilation did not need. One that is not complete has not come to every step.
func (c *Cache) endCompilation(complete bool) {
	if c != nil {
		memo.Sweep(c.allSteps(), complete)
	}
}

// sortPolicies sorts policies by their names.
func (c *Cache) sortPolicies(policies []policyconfig.Policy) []policyconfig.Policy {
	return memo.Sort(c.policies, policies, func(p policyconfig.Policy) string { return p.Name },
		func(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) })
}

// emitPlugin is plugin.Emit.
func (c *Cache) emitPlugin(policies []policyconfig.Policy, g plugin.Global) (policyconfig.Config, []byte, error) {
	inputs := make([]plugin.TextInputs, len(policies))
	for i, p := range policies {
		inputs[i].Policy = &p // and not a part of the list, which would be kept with it
	}
	return plugin.Join(policies, g, c.texts.GetAll(inputs, plugin.Write))
}
