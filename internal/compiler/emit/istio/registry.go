package istio

import (
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

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
