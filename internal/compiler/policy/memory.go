package policy

import (
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Memory keeps what was found out about rules and policies from one compilation to the next. It serves one at a time.
// The zero value keeps nothing that is costly.
type Memory struct {
	targets   *targets
	order     *memo.Order[ruleKey]
	standings *memo.Table[*resource.Object[sessionPolicy], *standing]
	findings  *memo.Table[sceneKey, *finding]
}

// NewMemory gives an empty one.
func NewMemory() *Memory {
	return &Memory{
		order:     &memo.Order[ruleKey]{},
		standings: &memo.Table[*resource.Object[sessionPolicy], *standing]{}, findings: &memo.Table[sceneKey, *finding]{},
	}
}

// Sweep forgets what nobody has asked for since the last time.
func (m *Memory) Sweep() {
	m.standings.Sweep()
	m.findings.Sweep()
}
