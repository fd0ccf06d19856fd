//go:build limpet.native

package main

import "github.com/limpet-proxy/limpet/filter/internal/session"

// tally counts an outcome of a policy that is not yet in Envoy's counters.
type tally struct {
	policy  *session.Policy
	outcome session.Outcome
	times   uint64
}

// tallies are those of a worker. Envoy makes the names of a counter's labels again whenever one is counted, and a
// filter has no timer. So of what comes in a second all but a few outcomes are added up while requests wait for their
// responses, and Envoy's counters are raised when the last of them has one or has gone, and with the first request of
// another second.
type tallies struct {
	kept    [16]tally
	count   int
	waiting int
	second  int64 // since the Unix epoch
	atOnce  int   // of that second
}

// mostAtOnce is how many outcomes of a second are counted in Envoy at once, so that those of a quiet worker never lag.
const mostAtOnce = 4

// add counts an outcome; false when the table is full.
func (t *tallies) add(p *session.Policy, o session.Outcome) bool {
	for i := range t.kept[:t.count] {
		if k := &t.kept[i]; k.policy == p && k.outcome == o {
			k.times++
			return true
		}
	}
	if t.count == len(t.kept) {
		return false
	}
	p.Hold() // its name is needed
	t.kept[t.count] = tally{p, o, 1}
	t.count++
	return true
}

// wait says that a request with a policy waits for its response.
func (x *exchange) wait(at int64) {
	t := &x.worker.tallies
	t.waiting++
	x.waiting = true
	if at != t.second {
		t.second, t.atOnce = at, 0
		x.tell()
	}
}

// waited ends what wait began, once.
func (x *exchange) waited() {
	if !x.waiting {
		return
	}
	x.waiting = false
	t := &x.worker.tallies
	if t.waiting--; t.waiting == 0 {
		x.tell()
	}
}

// tell has Envoy count what was added up.
func (x *exchange) tell() {
	t := &x.worker.tallies
	id := x.worker.metrics.labelled
	for i := range t.kept[:t.count] {
		k := &t.kept[i]
		policy, outcome := k.policy.Name, k.outcome.String()
		hostCountLabelled(&x.stream, id, data(policy), size(policy), data(outcome), size(outcome), k.times)
		k.policy.Release()
		k.policy = nil
	}
	t.count = 0
}
