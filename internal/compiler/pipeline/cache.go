package pipeline

import (
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
)

// Cache keeps the results of steps from one Run to the next; see package memo. It serves one at a time. The zero value
// keeps nothing.
type Cache struct {
	topology *memo.Table[memo.Whole, gateway.Input, *gateway.Topology]
	backends *memo.Table[backend.PortKey, backend.PortInputs, *backend.ServicePort]
	rules    policy.Cache
}

// NewCache makes an empty one.
func NewCache() Cache {
	return Cache{
		topology: memo.NewSilentTable[memo.Whole, gateway.Input, *gateway.Topology](),
		backends: memo.NewTable[backend.PortKey, backend.PortInputs, *backend.ServicePort](),
		rules:    policy.NewCache(),
	}
}

// Steps are those that results are kept of.
func (c Cache) Steps() []memo.Step {
	return append([]memo.Step{c.topology, c.backends}, c.rules.Steps()...)
}
