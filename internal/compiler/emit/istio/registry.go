package istio

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// registry has what the input adds to Istio's registry, by host.
type registry struct {
	services, entries map[string]*ir.Object
}

func newRegistry(plan *ir.Plan) registry {
	r := registry{services: map[string]*ir.Object{}, entries: plan.Hosts}
	for _, s := range plan.Objects[object.KindService] {
		r.services[serviceHost(s.Ref)] = s
	}
	return r
}

// registryHost is the backend's name in Istio's registry.
func registryHost(b *ir.Backend) string {
	if b.Kind == object.KindService {
		return serviceHost(b.Ref)
	}
	return b.Name
}

// serviceHost is a Service's name in Istio's registry.
func serviceHost(service object.Ref) string {
	return fmt.Sprintf("%s.%s.svc.%s", service.Name, service.Namespace, object.ClusterDomain)
}
