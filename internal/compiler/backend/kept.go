package backend

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Kept keeps the backends of Services from one index to the next, as long as neither the Service nor its
// EndpointSlices change and there was nothing to say. The zero value is ready; nil keeps nothing.
type Kept struct {
	table memo.Table[portKey, *made]
}

// made is a backend, and what it was made from beside the Service's port.
type made struct {
	*Backend
	behind []*endpointSlice
	rep    report.Report
}

// Sweep forgets the backends that nobody has asked for since the last time.
func (k *Kept) Sweep() {
	if k != nil {
		k.table.Sweep()
	}
}

// give gives what is kept if it was made from the same, else what fresh makes.
func (k *Kept) give(key portKey, behind []*endpointSlice, rep *report.Report, fresh func(*report.Report) *Backend) *Backend {
	if k == nil {
		return fresh(rep)
	}
	same := func(m *made) bool { return m.rep.Silent() && slices.Equal(m.behind, behind) }
	m := k.table.Get(key, same, func() *made {
		m := &made{behind: behind}
		m.Backend = fresh(&m.rep)
		return m
	})
	rep.Add(&m.rep)
	return m.Backend
}
