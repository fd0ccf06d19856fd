//go:build tinygo.wasm

package host

import (
	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// metrics are the counters of each policy and outcome, and the gauge of the linear memory. Counters get their numbers
// on first use.
type metrics struct {
	// named are the counters of each policy's name. They stay when a policy goes, for a changed one with its name goes on
	// with them, and Envoy keeps what it has counted either way.
	named    map[string]*session.Counters
	refused  uint32
	passed   uint32 // on a route without a policy
	steered  uint32 // by the client
	memory   uint32
	reported int64
	gauged   bool
}

// defineSessions has Envoy show all outcomes of policies from the start. Of more than a thousand it would cost too much
// memory: 78 MB for 10,000.
func defineSessions(policies []policyconfig.Policy) {
	if len(policies) > session.FewPolicies {
		return
	}
	for i := range policies {
		for o := session.None + 1; o < session.Outcomes; o++ {
			define(counter, policyconfig.SessionsCounter(policies[i].Name, o.String()))
		}
	}
}

// showKeys sets the gauge by which people compare proxies' keys. All VMs of a proxy come with the same.
func showKeys(keys token.Fingerprint) {
	proxyRecordMetric(define(gauge, policyconfig.KeysGauge), uint64(keys))
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

func (m *metrics) countWarning(p *session.Policy, w session.Warning) {
	if p.Counters == nil {
		p.Counters = m.countersOf(p.Name)
	}
	id, name := &p.Counters[int(session.Outcomes)+int(w)], ""
	if *id == 0 { // making the name takes memory
		name = policyconfig.WarningsCounter(p.Name, w.String())
	}
	countIn(id, name)
}

// countRefused counts a request whose route has a broken policy.
func (m *metrics) countRefused() { countIn(&m.refused, policyconfig.RefusedCounter) }

func (m *metrics) countPassed() { countIn(&m.passed, policyconfig.PassedCounter) }

func (m *metrics) countSteered() { countIn(&m.steered, policyconfig.SteeredCounter) }

// countIn counts in a counter that id is one more than the number of, or will be: then it needs the name.
func countIn(id *uint32, name string) {
	if *id == 0 {
		*id = 1 + defineCounter(name)
	}
	increment(*id-1, 1)
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
