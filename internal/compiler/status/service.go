package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceStatus is the status of a Service: limpet's conditions among those that are there, and what else there is.
type ServiceStatus struct {
	LoadBalancer any                `json:"loadBalancer,omitempty"`
	Conditions   []metav1.Condition `json:"conditions"`
}

// writeServices writes the conditions of Services that policies affect, and takes them from those that none affects any
// more.
func (b *builder) writeServices() {
	for _, o := range wanted(b, b.Objects.Services) {
		s := parseStatus[ServiceStatus](b, o)
		affected := b.affectedBackend(o.Ref(), anyGateway)
		isAffected := func(c metav1.Condition) bool { return slices.Contains(ownedByAffected, c.Type) }
		if len(affected) == 0 && !slices.ContainsFunc(s.Conditions, isAffected) {
			continue
		}
		s.Conditions = b.newWriter(o.Value.ObjectMeta).merge(s.Conditions, ownedByAffected, affected...)
		b.addObject(o.Value.TypeMeta, o.Value.ObjectMeta, s)
	}
}
