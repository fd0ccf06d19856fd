package backend

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// ResolveOf resolves a backendRef of a rule, and the subset of hosts that it means. It gives nil where Resolve does.
func (x *Index) ResolveOf(route *resource.Object[gatewayv1.HTTPRoute], rule, n int) *Backend {
	b, _ := x.Resolve(route, nil, route.Value.Spec.Rules[rule].BackendRefs[n].BackendRef)
	if subsets := route.ExtraOf(rule).Subsets; b != nil && len(subsets) > 0 {
		return x.selectSubset(b, subsets[n])
	}
	return b
}

// resolveHost resolves a host of the control plane's registry for a route in a namespace. The name of a Service leads
// to that Service, so that its policies are effective. A name without a dot is a Service's in the route's namespace
// (Istio, Destination.host). A reference without a port means the only one.
func (x *Index) resolveHost(namespace string, ref gatewayv1.BackendRef) *Backend {
	name := string(ref.Name)
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
	if referent.Kind == object.KindService {
		if service := x.services[referent.Key()]; service != nil && port == 0 && len(service.Value.Spec.Ports) == 1 {
			port = service.Value.Spec.Ports[0].Port
		}
		ref.Name, ref.Port = gatewayv1.ObjectName(referent.Name), &port
		b, _ := x.resolveUnverified(referent.Namespace, nil, ref)
		return b
	}
	for _, h := range x.objects.Hosts {
		if port == 0 && slices.Contains(h.Value.Spec.Hosts, name) {
			port = h.Value.OnlyPort()
		}
	}
	name = fmt.Sprintf("host/%s:%d", name, port)
	if x.resolved[name] == nil {
		x.resolved[name] = &Backend{Identity: Identity{Name: name, Object: referent, Port: port}}
	}
	return x.resolved[name]
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
