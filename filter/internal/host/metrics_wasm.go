//go:build tinygo.wasm

package host

import (
	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// metrics are the counters of each policy and outcome, and the gauge of the linear memory. Counters are defined
// on first use: 10,000 policies with every outcome would cost Envoy 78 MB before the first request.
type metrics struct {
	// named are the counters of each policy's name. They stay when a policy goes, for a changed one with its name goes on
	// with them, and Envoy keeps what it has counted either way.
	named    map[string]*session.Counters
	refused  uint32
	memory   uint32
	reported int64
	gauged   bool
}

func (m *metrics) count(p *session.Policy, o session.Outcome) {
	if p.Counters == nil {
		p.Counters = m.countersOf(p.Name)
	}
	id := &p.Counters[o]
	if *id == 0 {
		*id = 1 + defineCounter(policyconfig.SessionsCounter(p.Name, o.String()))
	}
	increment(*id-1, 1)
}

func (m *metrics) countersOf(name string) *session.Counters {
	c := m.named[name]
	if c == nil {
		if m.named == nil {
			m.named = map[string]*session.Counters{}
		}
		c = &session.Counters{}
		m.named[name] = c
	}
	return c
}

// countRefused counts a request whose route has a broken policy.
func (m *metrics) countRefused() {
	if m.refused == 0 {
		m.refused = 1 + defineCounter(policyconfig.RefusedCounter)
	}
	increment(m.refused-1, 1)
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
