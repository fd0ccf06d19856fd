package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps what was found out about rules and policies from one compilation to the next. It serves one at a time.
// The zero value keeps nothing that is costly.
type Cache struct {
	targets  *targetIndex
	order    *memo.SortOrder[ruleKey]
	policies *memo.Table[*resource.Object[sessionPolicy], *validatedPolicy]
	results  *memo.Table[locationKey, *ruleResult]
}

// NewCache gives an empty one.
func NewCache() *Cache {
	return &Cache{
		order:    &memo.SortOrder[ruleKey]{},
		policies: &memo.Table[*resource.Object[sessionPolicy], *validatedPolicy]{}, results: &memo.Table[locationKey, *ruleResult]{},
	}
}

// Sweep forgets what nobody has asked for since the last time.
func (m *Cache) Sweep() {
	m.policies.Sweep()
	m.results.Sweep()
}
