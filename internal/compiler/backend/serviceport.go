package backend

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// ServicePort is a port of a Service with the endpoints behind it.
type ServicePort struct {
	Backend
	inputs PortInputs
	// crowded are the endpoints with more addresses than one.
	crowded []crowdedEndpoint
	// refused are those that are where none can be.
	refused []refusedEndpoint
	// advice is about the first one on Envoy's own machine; empty for none.
	advice string
}

// crowdedEndpoint is an endpoint with several addresses, by its index in a slice.
type crowdedEndpoint struct {
	slice *endpointSlice
	index int
}

// PortKey names a port of a Service.
type PortKey struct {
	namespace, service string
	index              int
}

// PortInputs are everything that a ServicePort is made from.
type PortInputs struct {
	service *resource.Object[corev1.Service]
	index   int
	slices  []*endpointSlice // the Service's, in order
	left    []*SelectedPod   // pods that it no longer selects
	places  *Places
}

// Key names the port.
func (in PortInputs) Key() PortKey { return newPortKey(in.service, in.index) }

func newPortKey(service *resource.Object[corev1.Service], index int) PortKey {
	return PortKey{service.Namespace, service.Name, index}
}

// Equal reports whether the same is made from other inputs.
func (in PortInputs) Equal(other PortInputs) bool {
	return in.service == other.service && in.index == other.index && slices.Equal(in.slices, other.slices) &&
		slices.Equal(in.left, other.left) && in.places.Equal(other.places)
}

// GatherPorts lists the TCP and UDP ports of all Services, each with what it is made from. Nil places refuse no
// endpoint.
func GatherPorts(objects *resource.Objects, pods *Selection, places *Places) []PortInputs {
	type owner struct{ namespace, service string }
	behind := make(map[owner][]*endpointSlice, len(objects.Slices))
	for _, s := range objects.Slices {
		of := owner{s.Namespace, s.Labels[discoveryv1.LabelServiceName]}
		behind[of] = append(behind[of], s)
	}
	all := make([]PortInputs, 0, len(objects.Services))
	for _, s := range objects.Services {
		for i, p := range s.Value.Spec.Ports {
			if p.Protocol == corev1.ProtocolTCP || p.Protocol == corev1.ProtocolUDP {
				all = append(all, PortInputs{s, i, behind[owner{s.Namespace, s.Name}], pods.LeftBy(s.Key()), places})
			}
		}
	}
	return all
}

// BuildPort gathers the endpoints of a Service's port from its EndpointSlices.
func BuildPort(in PortInputs) *ServicePort {
	service, port := in.service, in.service.Value.Spec.Ports[in.index]
	p := &ServicePort{inputs: in, Backend: Backend{Identity: Identity{
		Name: fmt.Sprintf("%s:%d", service.Key(), port.Port), Service: service.Key(), Port: port.Port, PortName: port.Name,
		Object:   object.Ref{Kind: object.KindService, Namespace: service.Namespace, Name: service.Name},
		ClientIP: service.Value.Spec.SessionAffinity == corev1.ServiceAffinityClientIP,
		Cluster:  fmt.Sprintf("service/%s/%d", service.Key(), port.Port),
	}}}
	if port.Protocol == corev1.ProtocolUDP {
		p.Name, p.Cluster = p.Name+"/udp", p.Cluster+"/udp"
	}
	if port.AppProtocol != nil {
		p.Protocol = appProtocols[*port.AppProtocol]
	}
	if d := service.Value.Spec.TrafficDistribution; d != nil {
		p.TrafficDistribution = *d
	}
	p.collectEndpoints(port)
	if at := slices.IndexFunc(p.Endpoints, func(e ir.Endpoint) bool { return in.places.advise(e) != "" }); at >= 0 {
		p.advice = in.places.advise(p.Endpoints[at])
	}
	p.Faulty = len(p.crowded)+len(p.refused) > 0 || p.advice != ""
	return p
}

// collectEndpoints takes what the Service's EndpointSlices hold for a port, of the Service's first family that has any:
// the second address of a dual-stack host is the same host. A Service without addresses may have names. An ExternalName
// Service has its name.
func (p *ServicePort) collectEndpoints(port corev1.ServicePort) {
	spec := &p.inputs.service.Value.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		p.Endpoints = []ir.Endpoint{newNamedEndpoint(normalizeName(spec.ExternalName), uint16(port.Port), false)}
		return
	}
	families := append(
		slices.Clone(spec.IPFamilies),
		corev1.IPv4Protocol,
		corev1.IPv6Protocol,
		corev1.IPFamily(discoveryv1.AddressTypeFQDN),
	)
	for _, family := range families {
		found := map[endpointKey]ir.Endpoint{}
		var where whereabouts
		if p.inputs.places.zone() != "" {
			where = whereabouts{}
		}
		for _, s := range p.inputs.slices {
			if string(s.Value.AddressType) == string(family) {
				p.addSlice(found, where, s, port)
			}
		}
		p.addLeft(found, where, discoveryv1.AddressType(family), port)
		if len(found) > 0 {
			p.Endpoints = sortEndpoints(found)
			where.markFar(p.Endpoints, p.TrafficDistribution != "", p.inputs.places.zone())
			return
		}
	}
}

// addSlice adds a slice's endpoints. The slice's port is the one with the name of the Service's port.
func (p *ServicePort) addSlice(
	found map[endpointKey]ir.Endpoint, where whereabouts, s *endpointSlice, port corev1.ServicePort,
) {
	at := slices.IndexFunc(s.Value.Ports, func(p discoveryv1.EndpointPort) bool {
		return *p.Name == port.Name && *p.Protocol == port.Protocol && p.Port != nil
	})
	if at < 0 {
		return
	}
	for i, e := range s.Value.Endpoints {
		if len(e.Addresses) > 1 {
			p.crowded = append(p.crowded, crowdedEndpoint{s, i})
		}
		draining, serves := readConditions(e.Conditions)
		endpoint, why := p.readEndpoint(s, &e, *s.Value.Ports[at].Port, draining)
		if !serves {
			p.Unready = appendAddress(p.Unready, endpoint)
			continue
		}
		if why != "" {
			p.refused = append(p.refused, refusedEndpoint{s, i, why})
			continue
		}
		addEndpoint(found, endpoint)
		where.note(endpoint, &s.Value.Endpoints[i])
	}
}

// addLeft adds the pods of a family that the Service no longer selects. Where they run nothing says.
func (p *ServicePort) addLeft(
	found map[endpointKey]ir.Endpoint, where whereabouts, family discoveryv1.AddressType, port corev1.ServicePort,
) {
	for _, pod := range p.inputs.left {
		endpoint, has := pod.endpoint(port)
		if has && pod.isOf(family) && p.inputs.places.refuse(pod.Namespace, endpoint.Address) == "" &&
			addLeft(found, endpoint) {
			where.note(endpoint, &discoveryv1.Endpoint{})
		}
	}
}

// readEndpoint reads an endpoint of a slice, and says why there can be none; empty if there can.
func (p *ServicePort) readEndpoint(
	s *endpointSlice,
	e *discoveryv1.Endpoint,
	port int32,
	draining bool,
) (ir.Endpoint, string) {
	if s.Value.AddressType == discoveryv1.AddressTypeFQDN {
		name := normalizeName(e.Addresses[0])
		return newNamedEndpoint(name, uint16(port), draining), p.inputs.places.refuseName(name, uint16(port))
	}
	endpoint := newEndpoint(s.Namespace, e, port, draining)
	return endpoint, p.inputs.places.refuse(s.Namespace, endpoint.Address)
}

// unsupportedProtocol is the port's appProtocol, where limpet does not support it; else empty.
func (p *ServicePort) unsupportedProtocol() string {
	protocol := p.inputs.service.Value.Spec.Ports[p.inputs.index].AppProtocol
	if protocol == nil || p.Protocol != ProtocolUnset {
		return ""
	}
	return *protocol
}

// report says what is wrong with the port, and what of its Service is not honoured.
func (p *ServicePort) report(rep *report.Report) {
	for _, e := range p.crowded {
		path := field.NewPath("endpoints").Index(e.index).Child("addresses").Index(1)
		rep.WarnAt(
			report.BackendInvalid,
			e.slice,
			path.String(),
			"not used: an endpoint's further addresses have no meaning in Kubernetes",
		)
	}
	for _, e := range p.refused {
		e.report(rep)
	}
	service, spec := p.inputs.service, field.NewPath("spec")
	if p.advice != "" {
		rep.Advise(report.EndpointHere, service, spec, p.advice)
	}
	path, port := spec.Child("ports").Index(p.inputs.index), service.Value.Spec.Ports[p.inputs.index]
	p.reportDistribution(rep, spec.Child("trafficDistribution"))
	if p.ClientIP {
		rep.Advise(
			report.ServiceAdvice,
			service,
			spec.Child("sessionAffinity"),
			"ClientIP is not followed: it concerns the way through the Service's own address, and Envoy chooses endpoints "+
				"itself",
		)
	}
	if !p.Ready() {
		why := "no EndpointSlice has a ready endpoint for the port named %q"
		if len(p.refused) > 0 {
			why = "no ready endpoint is left for the port named %q, for those at addresses where no pod can be are left out"
		}
		rep.Warn(
			report.BackendInvalid,
			service,
			field.Invalid(path, port.Port, fmt.Sprintf(why, port.Name)+": new requests for it get 503"),
		)
	}
}

// reportDistribution says what of the Service's wish for near endpoints is not honoured.
func (p *ServicePort) reportDistribution(rep *report.Report, path *field.Path) {
	switch {
	case p.TrafficDistribution == "":
	case p.inputs.places.zone() == "":
		rep.Advise(report.ServiceAdvice, p.inputs.service, path,
			"every endpoint is as good as any other, wherever it runs: --zone says in which zone Envoy is")
	case p.TrafficDistribution == corev1.ServiceTrafficDistributionPreferSameNode:
		rep.Advise(
			report.ServiceAdvice,
			p.inputs.service,
			path,
			"it is that of the zone, PreferSameZone: on which node Envoy runs is not known",
		)
	}
}
