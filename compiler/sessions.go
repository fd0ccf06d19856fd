package compiler

import (
	"fmt"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Sessions is what an input says of the sessions that its rules have.
type Sessions struct {
	// Policies are those of the plugin that Compile with the same options would write, by route, rule, listener and
	// backend.
	Policies []policyconfig.Policy
	// Endpoints are those of all EndpointSlices. Backends are the names of all ports of Services, of which tokens' backend
	// tags are made.
	Endpoints []SessionEndpoint
	Backends  []string
	// Empty says that the input has no object of a kind that is served.
	Empty bool
}

// SessionEndpoint is a port of an endpoint.
type SessionEndpoint struct {
	// Host is its address and port, Pod the namespace/name of its pod, UID that one's, and Hostname its stable name; empty
	// for what is not known.
	Host, Pod, UID, Hostname string
	// Service is its namespace/name, and Backends are the names of that one's ports.
	Service  string
	Backends []string
	// Serving and Terminating are its conditions.
	Serving, Terminating bool
}

// ReadSessions gives what an input says of sessions.
func ReadSessions(sources []Source, o Options) (*Sessions, error) {
	o.writeNothing()
	j, err := analyze(sources, &o)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Empty: j.objects.IsEmpty()}
	for _, path := range j.Decisions.Paths {
		s.Policies = append(s.Policies, path.Policies...)
	}
	backends := map[string][]string{}
	for _, service := range j.objects.Services {
		for _, port := range service.Value.Spec.Ports {
			name := fmt.Sprintf("%s:%d", service.Key(), port.Port)
			backends[service.Key()] = append(backends[service.Key()], name)
			s.Backends = append(s.Backends, name)
		}
	}
	for _, slice := range j.objects.Slices {
		service := resource.ServiceOf(slice)
		for i := range slice.Value.Endpoints {
			e := newSessionEndpoint(slice.Namespace, &slice.Value.Endpoints[i])
			e.Service, e.Backends = service, backends[service]
			s.addEndpoint(e, &slice.Value.Endpoints[i], slice.Value.Ports)
		}
	}
	return s, nil
}

func newSessionEndpoint(namespace string, from *discoveryv1.Endpoint) SessionEndpoint {
	e := SessionEndpoint{
		Hostname: ptr.Deref(from.Hostname, ""), Terminating: ptr.Deref(from.Conditions.Terminating, false),
		Serving: ptr.Deref(from.Conditions.Serving, ptr.Deref(from.Conditions.Ready, true)),
	}
	if to := from.TargetRef; to != nil && to.Kind == "Pod" {
		e.Pod, e.UID = namespace+"/"+to.Name, string(to.UID)
	}
	return e
}

// addEndpoint adds an endpoint with each of its ports, unless it has a name in place of an address.
func (s *Sessions) addEndpoint(e SessionEndpoint, from *discoveryv1.Endpoint, ports []discoveryv1.EndpointPort) {
	address, err := netip.ParseAddr(from.Addresses[0])
	if err != nil {
		return
	}
	for _, port := range ports {
		if port.Port != nil {
			e.Host = netip.AddrPortFrom(address, uint16(*port.Port)).String()
			s.Endpoints = append(s.Endpoints, e)
		}
	}
}
