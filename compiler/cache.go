package compiler

import (
	"github.com/limpet-proxy/limpet/compiler/backend"
	"github.com/limpet-proxy/limpet/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/compiler/emit/plugin"
	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/memo"
	"github.com/limpet-proxy/limpet/compiler/policy"
	"github.com/limpet-proxy/limpet/compiler/schema"
)

// Cache keeps what a process that compiles again and again need not do twice. It serves one compilation at a time, and
// one input: it forgets what the last compilation did not have.
type Cache struct {
	documents schema.Cache
	ports     gateway.Kept
	services  backend.Kept
	decisions *policy.Memory
	order     memo.Order[string] // of the plugin's policies
	policies  plugin.Texts
	texts     *envoy.Texts
}

// NewCache gives an empty cache.
func NewCache() *Cache { return &Cache{decisions: policy.NewMemory(), texts: envoy.NewTexts()} }

// admissions is the cache of documents; nil if there is no cache at all.
func (c *Cache) admissions() *schema.Cache {
	if c == nil {
		return nil
	}
	return &c.documents
}

// gateways is the cache of ports; nil if there is no cache at all.
func (c *Cache) gateways() *gateway.Kept {
	if c == nil {
		return nil
	}
	return &c.ports
}

// backends is the cache of backends; nil if there is no cache at all.
func (c *Cache) backends() *backend.Kept {
	if c == nil {
		return nil
	}
	return &c.services
}

// memory is the cache of decisions; one that keeps nothing if there is no cache at all.
func (c *Cache) memory() *policy.Memory {
	if c == nil {
		return &policy.Memory{}
	}
	return c.decisions
}

// names is the order of the plugin's policies, the last time; nil if there is no cache at all.
func (c *Cache) names() *memo.Order[string] {
	if c == nil {
		return nil
	}
	return &c.order
}

// plugin is the cache of the plugin's policies; an empty one if there is no cache at all, for a compilation needs the
// same texts twice.
func (c *Cache) plugin() *plugin.Texts {
	if c == nil {
		return &plugin.Texts{}
	}
	return &c.policies
}

// written is the cache of Envoy's texts; one that keeps nothing if there is no cache at all.
func (c *Cache) written() *envoy.Texts {
	if c == nil {
		return &envoy.Texts{}
	}
	return c.texts
}

// sweep forgets what a compilation that came to its end did not need.
func (c *Cache) sweep() {
	if c != nil {
		c.services.Sweep()
		c.decisions.Sweep()
		c.policies.Sweep()
		c.texts.Sweep()
	}
}
