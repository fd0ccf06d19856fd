package backend

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// ClusterDomain ends the names of Services among the hosts of Istio's registry.
const ClusterDomain = "cluster.local"

// host gives a host of Istio's registry, or a subset of one, that a route in a namespace means. Behind the name of a
// Service is that Service, so that its policies hold; a name without a dot is that of one in the route's namespace
// (Istio, Destination.host).
func (x *Index) host(namespace string, ref gatewayv1.BackendRef) *Backend {
	subset, name := "", string(ref.Name)
	if *ref.Kind == resource.KindSubset {
		subset, name, _ = strings.Cut(name, "|")
	}
	object := ladder.Object{Kind: resource.KindHostname, Name: name}
	service, of := strings.CutSuffix(name, ".svc."+ClusterDomain)
	labels := strings.Split(service, ".")
	switch {
	case !strings.Contains(name, "."):
		object = ladder.Object{Kind: ladder.KindService, Namespace: namespace, Name: name}
	case of && len(labels) == 2:
		object = ladder.Object{Kind: ladder.KindService, Namespace: labels[1], Name: labels[0]}
	}
	port := int32(0)
	if ref.Port != nil {
		port = *ref.Port
	}
	return x.portOf(object, subset, port)
}

// portOf gives a port of a host, the only one for 0.
func (x *Index) portOf(object ladder.Object, subset string, port int32) *Backend {
	if object.Kind == ladder.KindService {
		number := port
		if service := x.services[object.Key()]; service != nil && port == 0 && len(service.Value.Spec.Ports) == 1 {
			number = service.Value.Spec.Ports[0].Port
		}
		namespace := gatewayv1.Namespace(object.Namespace)
		whole, _ := x.assume(object.Namespace, field.NewPath(""), gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: gatewayv1.ObjectName(object.Name), Namespace: &namespace, Port: &number,
		}})
		return x.subset(whole, subset)
	}
	if port == 0 {
		port = x.entryPort(object.Name)
	}
	name := fmt.Sprintf("host/%s:%d", object.Name, port)
	if x.resolved[name] == nil {
		x.resolved[name] = &Backend{Identity: Identity{Name: name, Object: object, Port: port}}
	}
	return x.subset(x.resolved[name], subset)
}

// entryPort gives the only port of a host that a ServiceEntry adds, 0 if there are more or it is not in the input.
func (x *Index) entryPort(host string) int32 {
	for _, e := range x.entries {
		for _, h := range e.Value.Spec.Hosts {
			if h == host && len(e.Value.Spec.Ports) == 1 {
				return e.Value.Spec.Ports[0].Number
			}
		}
	}
	return 0
}

// subset gives a part of a backend, or all of it for the empty name.
func (x *Index) subset(whole *Backend, subset string) *Backend {
	if subset == "" {
		return whole
	}
	name := whole.Name + "/" + subset
	if x.resolved[name] == nil {
		part := *whole
		part.Name, part.Subset = name, subset
		x.resolved[name] = &part
	}
	return x.resolved[name]
}
