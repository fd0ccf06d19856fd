//go:build tinygo.wasm

package host

import (
	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// metrics are the counters of each policy and outcome, and the gauge of the linear memory. Counters are defined
// on first use: 10,000 policies with every outcome would cost Envoy 78 MB before the first request.
type metrics struct {
	policies []*counters
	memory   uint32
	reported int64
	gauged   bool
}

type counters [session.Outcomes]struct {
	id      uint32
	defined bool
}

func (m *metrics) count(p *session.Policy, o session.Outcome) {
	c := m.policies[p.Index]
	if c == nil {
		c = &counters{}
		m.policies[p.Index] = c
	}
	if !c[o].defined {
		c[o].id = defineCounter(policyconfig.SessionsCounter(p.Name, o.String()))
		c[o].defined = true
	}
	increment(c[o].id, 1)
}

// watchMemory adds the growth of this worker's linear memory to a gauge that all workers share, so that the gauge
// shows their sum. It begins with a response, for the VMs in which Envoy tries a configuration out end without a word.
// Reading the size is one instruction.
func (m *metrics) watchMemory() {
	size := memoryBytes()
	if size == m.reported {
		return
	}
	if !m.gauged {
		m.memory, m.gauged = define(gauge, policyconfig.MemoryGauge), true
	}
	increment(m.memory, size-m.reported)
	m.reported = size
}

func (m *metrics) forgetMemory() {
	if m.gauged {
		increment(m.memory, -m.reported)
		m.reported = 0
	}
}
