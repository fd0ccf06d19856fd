package istio

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// inputIndex is the input by what it is looked up by.
type inputIndex struct {
	// virtuals and selectors are VirtualServices, and the labels of Istio's Gateways, by namespace/name.
	virtuals  map[string]*resource.VirtualService
	selectors map[string]map[string]string
	// services and entries are by the hosts of Istio's registry.
	services map[string]*resource.Object[corev1.Service]
	entries  map[string]*resource.Object[resource.ServiceEntry]
}

func indexInput(objects *resource.Objects) inputIndex {
	k := inputIndex{
		virtuals: map[string]*resource.VirtualService{}, selectors: map[string]map[string]string{},
		services: map[string]*resource.Object[corev1.Service]{}, entries: map[string]*resource.Object[resource.ServiceEntry]{},
	}
	for _, v := range objects.VirtualServices {
		k.virtuals[v.Key()] = v.Value
	}
	for _, g := range objects.IstioGateways {
		k.selectors[g.Key()] = g.Value.Spec.Selector
	}
	for _, s := range objects.Services {
		k.services[serviceHost(s.Namespace, s.Name)] = s
	}
	for _, e := range objects.ServiceEntries {
		for _, host := range e.Value.Spec.Hosts {
			if k.entries[host] == nil {
				k.entries[host] = e
			}
		}
	}
	return k
}

// serviceHost is a Service's name in Istio's registry.
func serviceHost(namespace, name string) string {
	return fmt.Sprintf("%s.%s.svc.%s", name, namespace, backend.ClusterDomain)
}
