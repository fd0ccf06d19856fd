package host

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/limpet-proxy/limpet/filter/session"
)

// metrics are the counters of each policy and outcome, and the gauge of the linear memory. Counters are defined
// on first use: 10,000 policies with every outcome would cost Envoy 78 MB before the first request.
type metrics struct {
	policies []*counters
	memory   proxywasm.MetricGauge
	reported int64
	gauged   bool
}

type counters [session.Outcomes]struct {
	metric  proxywasm.MetricCounter
	defined bool
}

func (m *metrics) count(p *session.Policy, o session.Outcome) {
	c := m.policies[p.Index]
	if c == nil {
		c = &counters{}
		m.policies[p.Index] = c
	}
	if !c[o].defined {
		c[o].metric = proxywasm.DefineCounterMetric("limpet_sessions.policy." + p.Name + ".outcome." + o.String())
		c[o].defined = true
	}
	c[o].metric.Increment(1)
}

// watchMemory adds the growth of this worker's linear memory to a gauge that all workers share, so that the gauge
// shows their sum. Reading the size is one instruction.
func (m *metrics) watchMemory() {
	size := memoryBytes()
	if size == m.reported {
		return
	}
	if !m.gauged {
		m.memory, m.gauged = proxywasm.DefineGaugeMetric("limpet_memory_bytes"), true
	}
	m.memory.Add(size - m.reported)
	m.reported = size
}

func (m *metrics) forgetMemory() {
	if m.gauged {
		m.memory.Add(-m.reported)
		m.reported = 0
	}
}
