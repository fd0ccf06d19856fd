package backend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// resolveService finds the port of a Service that a reference of a kind of route means.
func (x *Index) resolveService(kind, key string, path *field.Path, ref gatewayv1.BackendRef) (*Backend, *field.Error) {
	service := x.services[key]
	if service == nil {
		return nil, newNotFound(path.Child("name"), ref.Name, x.absence(key))
	}
	number := int32(0)
	if ref.Port != nil { // the schema requires it for a Service
		number = *ref.Port
	}
	protocol := corev1.ProtocolTCP
	if kind == object.KindUDPRoute {
		protocol = corev1.ProtocolUDP
	}
	if service.Value.Spec.Type == corev1.ServiceTypeExternalName {
		if why := x.places.refuseName(normalizeName(service.Value.Spec.ExternalName), uint16(number)); why != "" {
			return nil, newNotFound(
				path.Child("name"),
				ref.Name,
				"Service "+key+" is an ExternalName: Gateway API asks that none is "+
					"followed, for the name may lead anywhere (CVE-2021-25740), and "+why,
			)
		}
		if len(service.Value.Spec.Ports) == 0 {
			return x.getOpenPort(service, corev1.ServicePort{Port: number, Protocol: protocol}), nil
		}
	}
	at := slices.IndexFunc(service.Value.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == number && p.Protocol == protocol
	})
	if at < 0 {
		return nil, newNotFound(
			path.Child("port"),
			number,
			fmt.Sprintf("Service %s has no %s port of this number%s", key, protocol, listPorts(service, protocol)),
		)
	}
	p := x.ports[newPortKey(service, at)]
	if unsupported := p.unsupportedProtocol(); unsupported != "" && !resource.IsStreamRoute(kind) &&
		!x.speaksTLS(p, unsupported) {
		return nil, field.Invalid(path.Child("port"), number,
			fmt.Sprintf("Service %s says of it appProtocol %q, which limpet does not speak to backends", key, unsupported))
	}
	return x.getServicePort(newPortKey(service, at)), nil
}

// mostPorts is how many of a Service's ports are listed.
const mostPorts = 10

// listPorts lists what ports of a protocol a Service has instead of one that is not there; empty for none.
func listPorts(service *resource.Object[corev1.Service], protocol corev1.Protocol) string {
	var numbers []string
	for _, p := range service.Value.Spec.Ports {
		if p.Protocol == protocol && len(numbers) < mostPorts {
			numbers = append(numbers, strconv.Itoa(int(p.Port)))
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	return " (it has " + strings.Join(numbers, ", ") + ")"
}

// speaksTLS reports whether a protocol over TLS is one that is spoken to a port, because a policy says how.
func (x *Index) speaksTLS(p *ServicePort, protocol string) bool {
	over := strings.ToLower(protocol)
	return (over == "https" || over == "wss" || over == "kubernetes.io/wss") && x.secured != nil && x.secured(p.Target())
}

// getOpenPort gives the backend for a port of a Service that lists none, as an ExternalName may: each is open.
func (x *Index) getOpenPort(service *resource.Object[corev1.Service], port corev1.ServicePort) *Backend {
	key := fmt.Sprintf("%s:%d/%s", service.Key(), port.Port, port.Protocol)
	if x.resolved[key] == nil {
		listed, spec := *service, *service.Value
		spec.Spec.Ports = []corev1.ServicePort{port}
		listed.Value = &spec
		p := BuildPort(PortInputs{service: &listed, places: x.places})
		p.report(x.rep)
		x.resolved[key] = &p.Backend
	}
	return x.resolved[key]
}

// getServicePort gives the backend for a Service's port. Its problems are reported when a route first uses it.
func (x *Index) getServicePort(key PortKey) *Backend {
	p := x.ports[key]
	if !x.reported[p] {
		p.report(x.rep)
		x.reported[p] = true
	}
	return &p.Backend
}
