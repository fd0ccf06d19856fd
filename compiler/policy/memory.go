package policy

import (
	"github.com/limpet-proxy/limpet/compiler/memo"
	"github.com/limpet-proxy/limpet/compiler/schema"
)

// Memory keeps what was found out about rules and policies from one compilation to the next. It serves one at a time.
// The zero value keeps nothing.
type Memory struct {
	faults   *faults
	findings *memo.Table[sceneKey, *finding]
}

// faults are what is wrong with policies by themselves, by the objects.
type faults = memo.Table[*schema.Object[sessionPolicy], string]

// NewMemory gives an empty one.
func NewMemory() *Memory {
	return &Memory{faults: &faults{}, findings: &memo.Table[sceneKey, *finding]{}}
}

// Sweep forgets what nobody has asked for since the last time.
func (m *Memory) Sweep() {
	m.faults.Sweep()
	m.findings.Sweep()
}
