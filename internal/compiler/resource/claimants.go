package resource

import "github.com/limpet-proxy/limpet/internal/compiler/seniority"

// VisitClaimants visits the objects that can want what others have: an address, a host, the name of a session.
func (o *Objects) VisitClaimants(visit func(seniority.Subject)) {
	visitSubjects(o.Gateways, visit)
	visitSubjects(o.Routes, visit)
	visitSubjects(o.HostRoutes, visit)
	visitSubjects(o.ListenerSets, visit)
}

func visitSubjects[T any](objects []*Object[T], visit func(seniority.Subject)) {
	for _, o := range objects {
		visit(o)
	}
}
