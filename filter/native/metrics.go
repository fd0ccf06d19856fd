//go:build limpet.native

package main

import (
	"unsafe"

	"github.com/limpet-proxy/limpet/filter/internal/session"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// metric is Envoy's number of a metric.
type metric uintptr

const noMetric = ^metric(0)

// metrics are the counters of each policy and outcome, and the gauge of the module's memory. Envoy lets them be defined
// with the configuration only, and each takes it some 650 bytes. So of more than session.FewPolicies only the two
// outcomes that nearly all requests have are defined; the others are made as they come, by their labels, which takes
// Envoy 3,900 instructions; so are those of policies that come with their routes. These are added up first.
type metrics struct {
	policies []counters
	labelled metric
	warnings metric // labelled, too
	refused  metric
	passed   metric // on a route without a policy
	memory   metric
	keys     metric // by which people compare proxies' keys
}

type counters [session.Outcomes]metric

// family is which labelled counters: each is remembered, so that a new configuration goes on with it.
type family uint32

const (
	ofSessions family = iota
	ofWarnings
)

func defineMetrics(envoy unsafe.Pointer, policies []policyconfig.Policy) metrics {
	m := metrics{policies: make([]counters, len(policies))}
	m.labelled = labelled(envoy, policyconfig.Sessions, policyconfig.OutcomeLabel)
	hostKeep(ofSessions, envoy, m.labelled)
	m.warnings = labelled(envoy, policyconfig.Warnings, policyconfig.CauseLabel)
	hostKeep(ofWarnings, envoy, m.warnings)
	m.refused = unlabelled(envoy, policyconfig.RefusedCounter)
	m.passed = unlabelled(envoy, policyconfig.PassedCounter)
	m.memory = hostGauge(envoy, data(policyconfig.MemoryGauge), size(policyconfig.MemoryGauge))
	m.keys = hostGauge(envoy, data(policyconfig.KeysGauge), size(policyconfig.KeysGauge))
	for i := range policies {
		for o := session.None + 1; o < session.Outcomes; o++ {
			m.policies[i][o] = noMetric
			if len(policies) <= session.FewPolicies || o == session.NewSession || o == session.Pinned {
				m.policies[i][o] = unlabelled(envoy, policyconfig.SessionsCounter(policies[i].Name, o.String()))
			}
		}
	}
	return m
}

// ShowKeys sets the gauge while a request comes.
func (x *exchange) ShowKeys(ring token.Fingerprint) {
	if id := x.worker.metrics.keys; id != noMetric {
		hostSetGauge(&x.stream, id, uint64(ring))
	}
}

func unlabelled(envoy unsafe.Pointer, name string) metric {
	return hostCounter(envoy, data(name), size(name))
}

func labelled(envoy unsafe.Pointer, name, label string) metric {
	return hostLabelled(envoy, data(name), size(name), data(label), size(label))
}

// countUnlabelled counts a request, unless Envoy has refused the counter.
func (x *exchange) countUnlabelled(id metric) {
	if id != noMetric {
		hostCount(&x.stream, id)
	}
}

// CountWarning tells Envoy at once: where nothing is wrong there are none.
func (x *exchange) CountWarning(p *session.Policy, w session.Warning) {
	if id := x.worker.metrics.warnings; id != noMetric {
		policy, cause := p.Name, w.String()
		if bit := uint32(1) << (int(session.Outcomes) + int(w)); p.Noted&bit == 0 {
			p.Noted |= bit
			remember(ofWarnings, policy, cause)
		}
		hostCountLabelled(&x.stream, id, data(policy), size(policy), data(cause), size(cause), 1)
	}
}

func remember(f family, policy, value string) {
	hostRemember(f, data(policy), size(policy), data(value), size(value))
}

func (x *exchange) count(o session.Outcome) {
	m := x.worker.metrics
	if i := x.policy.Index; i >= 0 && m.policies[i][o] != noMetric {
		hostCount(&x.stream, m.policies[i][o])
		return
	}
	if noted := &x.policy.Noted; *noted&(1<<o) == 0 {
		*noted |= 1 << o
		remember(ofSessions, x.policy.Name, o.String())
	}
	t := &x.worker.tallies
	if !t.add(x.policy, o) {
		x.tell()
		t.add(x.policy, o)
	}
	if t.atOnce < mostAtOnce {
		t.atOnce++
		x.tell()
	}
}

// watchMemory sets the gauge where the memory of the module, which all configurations and workers share, has changed.
func (x *exchange) watchMemory() {
	bytes := hostMemory()
	if w := x.worker; bytes != w.reported {
		w.reported = bytes
		hostSetGauge(&x.stream, w.metrics.memory, bytes)
	}
}
