package backend

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// resolveHost gives a host of Istio's registry, or a subset of one, that a route in a namespace means. Behind the name of a
// Service is that Service, so that its policies hold; a name without a dot is that of one in the route's namespace
// (Istio, Destination.host).
func (x *Index) resolveHost(namespace string, ref gatewayv1.BackendRef) *Backend {
	subset, name := "", string(ref.Name)
	if *ref.Kind == object.KindSubset {
		subset, name, _ = strings.Cut(name, "|")
	}
	referent := object.Ref{Kind: object.KindHostname, Name: name}
	service, of := strings.CutSuffix(name, ".svc."+object.ClusterDomain)
	labels := strings.Split(service, ".")
	switch {
	case !strings.Contains(name, "."):
		referent = object.Ref{Kind: object.KindService, Namespace: namespace, Name: name}
	case of && len(labels) == 2:
		referent = object.Ref{Kind: object.KindService, Namespace: labels[1], Name: labels[0]}
	}
	port := int32(0)
	if ref.Port != nil {
		port = *ref.Port
	}
	return x.resolveHostPort(referent, subset, port)
}

// resolveHostPort gives a port of a host, the only one for 0.
func (x *Index) resolveHostPort(referent object.Ref, subset string, port int32) *Backend {
	if referent.Kind == object.KindService {
		number := port
		if service := x.services[referent.Key()]; service != nil && port == 0 && len(service.Value.Spec.Ports) == 1 {
			number = service.Value.Spec.Ports[0].Port
		}
		namespace := gatewayv1.Namespace(referent.Namespace)
		whole, _ := x.resolveUnverified(referent.Namespace, field.NewPath(""), gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
			Name: gatewayv1.ObjectName(referent.Name), Namespace: &namespace, Port: &number,
		}})
		return x.selectSubset(whole, subset)
	}
	if port == 0 {
		port = x.findEntryPort(referent.Name)
	}
	name := fmt.Sprintf("host/%s:%d", referent.Name, port)
	if x.resolved[name] == nil {
		x.resolved[name] = &Backend{Identity: Identity{Name: name, Object: referent, Port: port}}
	}
	return x.selectSubset(x.resolved[name], subset)
}

// findEntryPort gives the only port of a host that a ServiceEntry adds, 0 if there are more or it is not in the input.
func (x *Index) findEntryPort(host string) int32 {
	for _, e := range x.serviceEntries {
		for _, h := range e.Value.Spec.Hosts {
			if h == host && len(e.Value.Spec.Ports) == 1 {
				return e.Value.Spec.Ports[0].Number
			}
		}
	}
	return 0
}

// selectSubset gives a part of a backend, or all of it for the empty name.
func (x *Index) selectSubset(whole *Backend, subset string) *Backend {
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
