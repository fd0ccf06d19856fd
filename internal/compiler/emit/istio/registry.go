package istio

import (
	"encoding/json"
	"fmt"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// registry has what the input adds to Istio's registry, by host.
type registry struct {
	services, entries map[string]*ir.Object
}

func newRegistry(plan *ir.Plan) registry {
	r := registry{services: map[string]*ir.Object{}, entries: map[string]*ir.Object{}}
	for _, s := range plan.Objects[object.KindService] {
		r.services[serviceHost(s.Ref)] = s
	}
	for _, e := range plan.Objects[object.KindServiceEntry] {
		var entry struct {
			Spec struct {
				Hosts []string `json:"hosts"`
			} `json:"spec"`
		}
		if json.Unmarshal(e.JSON, &entry) != nil {
			continue // it was read before, so this can't be
		}
		for _, host := range entry.Spec.Hosts {
			if r.entries[host] == nil {
				r.entries[host] = e
			}
		}
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
