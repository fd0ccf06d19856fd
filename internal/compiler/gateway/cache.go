package gateway

import (
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Cache keeps the last ports for the next time, as long as nothing that they hang on changes and there was nothing to
// say. The zero value is ready; nil keeps nothing. It serves one Build at a time.
type Cache struct {
	objects *resource.Objects // nothing else
	setting string
	ports   []Port
	status  *AttachmentStatus
}

// reuseOrBuild gives what is kept if it was made from the same, else what fresh makes.
func (k *Cache) reuseOrBuild(objects *resource.Objects, setting string, rep *report.Report, fresh func(*report.Report) ([]Port, *AttachmentStatus)) ([]Port, *AttachmentStatus) {
	if k == nil {
		return fresh(rep)
	}
	if k.objects != nil && k.setting == setting && k.objects.Equal(objects) {
		return k.ports, k.status
	}
	own := &report.Report{}
	ports, status := fresh(own)
	rep.Add(own)
	if *k = (Cache{}); own.Silent() {
		*k = Cache{objects, setting, ports, status}
	}
	return ports, status
}
