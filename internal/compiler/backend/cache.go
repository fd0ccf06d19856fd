package backend

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Cache keeps the backends of Services from one index to the next, as long as neither the Service nor its
// EndpointSlices change and there was nothing to say. The zero value is ready; nil keeps nothing.
type Cache struct {
	table memo.Table[portKey, *cachedBackend]
}

// cachedBackend is a backend, and what it was made from beside the Service's port.
type cachedBackend struct {
	*Backend
	behind []*endpointSlice
	rep    report.Report
}

// Sweep forgets the backends that nobody has asked for since the last time.
func (k *Cache) Sweep() {
	if k != nil {
		k.table.Sweep()
	}
}

// getOrBuild gives what is kept if it was made from the same, else what fresh makes.
func (k *Cache) getOrBuild(key portKey, behind []*endpointSlice, rep *report.Report, fresh func(*report.Report) *Backend) *Backend {
	if k == nil {
		return fresh(rep)
	}
	same := func(m *cachedBackend) bool { return m.rep.Silent() && slices.Equal(m.behind, behind) }
	m := k.table.Get(key, same, func() *cachedBackend {
		m := &cachedBackend{behind: behind}
		m.Backend = fresh(&m.rep)
		return m
	})
	rep.Add(&m.rep)
	return m.Backend
}
