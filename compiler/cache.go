package compiler

import (
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps what a process that compiles again and again need not do twice. It serves one compilation at a time, and
// one input: it forgets what the last compilation did not have.
type Cache struct {
	// Of these nil keeps nothing.
	documents   *resource.Cache
	ports       *gateway.Cache
	backends    *backend.Cache
	policyOrder *memo.SortOrder[string] // of the plugin's policies
	// Of these the zero value keeps nothing that is costly.
	decisions *policy.Cache
	envoy     *envoy.RenderCache
	// plugin serves within one compilation too, which needs the same texts twice.
	plugin *plugin.Cache
}

// NewCache gives an empty cache.
func NewCache() *Cache {
	return &Cache{
		documents: &resource.Cache{}, ports: &gateway.Cache{}, backends: &backend.Cache{}, policyOrder: &memo.SortOrder[string]{},
		decisions: policy.NewCache(), envoy: envoy.NewRenderCache(), plugin: &plugin.Cache{},
	}
}

// newTransientCache gives what a compilation without a cache has in its place.
func newTransientCache() *Cache {
	return &Cache{decisions: &policy.Cache{}, envoy: &envoy.RenderCache{}, plugin: &plugin.Cache{}}
}

// sweep forgets what a compilation that came to its end did not need.
func (c *Cache) sweep() {
	c.backends.Sweep()
	c.decisions.Sweep()
	c.plugin.Sweep()
	c.envoy.Sweep()
}
