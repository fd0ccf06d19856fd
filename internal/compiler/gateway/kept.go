package gateway

import (
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Kept keeps the last ports for the next time, as long as nothing that they hang on changes and there was nothing to
// say. The zero value is ready; nil keeps nothing. It serves one Build at a time.
type Kept struct {
	objects *resource.Objects // nothing else
	setting string
	ports   []Port
	facts   *Facts
}

// give gives what is kept if it was made from the same, else what fresh makes.
func (k *Kept) give(objects *resource.Objects, setting string, rep *report.Report, fresh func(*report.Report) ([]Port, *Facts)) ([]Port, *Facts) {
	if k == nil {
		return fresh(rep)
	}
	if k.objects != nil && k.setting == setting && k.objects.Equal(objects) {
		return k.ports, k.facts
	}
	own := &report.Report{}
	ports, facts := fresh(own)
	rep.Add(own)
	if *k = (Kept{}); own.Silent() {
		*k = Kept{objects, setting, ports, facts}
	}
	return ports, facts
}
