// Package plugin writes the filter's own configuration.
package plugin

import (
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/policy-config"
)

// Cache keeps the text of policies, for the checks and the configurations that need it. The zero value is ready; nil
// keeps nothing.
type Cache struct {
	table memo.Table[cacheKey, rendered]
}

// cacheKey names a text. A policy may have its name in two forms, with clusters and without.
type cacheKey struct{ name, clusters string }

// rendered is a policy's text, or why there is none.
type rendered struct {
	text *policyconfig.Written
	err  error
}

// Sweep forgets the texts that nobody has asked for since the last time.
func (t *Cache) Sweep() { t.table.Sweep() }

// Render gives a policy's text. The error is that of policyconfig.Write.
func (t *Cache) Render(p policyconfig.Policy) (*policyconfig.Written, error) {
	pin := policyconfig.DefaultPinHeader
	fresh := func() rendered {
		text, err := policyconfig.Write(p, pin)
		return rendered{text, err}
	}
	if t == nil {
		w := fresh()
		return w.text, w.err
	}
	same := func(w rendered) bool { return w.err == nil && w.text.Is(p, pin) }
	w := t.table.Get(cacheKey{p.Name, strings.Join(p.Clusters, ",")}, same, fresh)
	return w.text, w.err
}

// Emit gives the plugin configuration of policies and its JSON, which policyconfig has read back, policy by policy, and
// found whole. Nobody may change those policies.
func Emit(policies []policyconfig.Policy, keys policyconfig.Keys, cache *Cache) (policyconfig.Config, []byte, error) {
	c := policyconfig.DefaultConfig()
	c.Keys = keys
	all := parallel.Map(policies, func(some []policyconfig.Policy, results []rendered) {
		for i, p := range some {
			results[i].text, results[i].err = cache.Render(p)
		}
	})
	documents := make([]*policyconfig.Written, len(all))
	for i, w := range all {
		if w.err != nil { // the whole configuration says what is wrong, at its place
			c.Policies = append(c.Policies, policies...)
			return policyconfig.Encode(c)
		}
		documents[i] = w.text
	}
	return policyconfig.EncodeWith(c, documents)
}
