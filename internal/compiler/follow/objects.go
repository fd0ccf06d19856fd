package follow

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

type (
	service       = resource.Object[corev1.Service]
	endpointSlice = resource.Object[discoveryv1.EndpointSlice]
	sessionPolicy = resource.Object[v1alpha1.SessionPersistencePolicy]

	loadBalancerPolicy = resource.Object[v1alpha1.LoadBalancerPolicy]
	trafficPolicy      = resource.Object[gatewayxv1alpha1.XBackendTrafficPolicy]
	authService        = resource.Object[resource.AuthService]
)

// take brings the indexes up to date, and marks what depends on the objects that went and came.
func (s *State) take(gone, came *resource.Objects) {
	s.takeListenerSets(gone.ListenerSets, came.ListenerSets)
	for _, some := range []*resource.Objects{gone, came} {
		s.markObjects(some)
		s.noteChanges(some)
	}
	for i, some := range []*resource.Objects{gone, came} {
		present, by := i == 1, 2*i-1
		s.takeTargets(some, present)
		s.selected.take(some, present)
		for _, r := range slices.Concat(some.Routes, some.HostRoutes) {
			s.objects.countVerifying(r.Namespace, r.Verifies(), by)
			s.takeRoute(r, present)
		}
		for _, b := range some.Backends {
			s.objects.countVerifying(b.Namespace, b.Value.Validation() != nil, by)
		}
		for _, p := range some.BackendTLS {
			s.objects.countVerifying(p.Namespace, true, by)
		}
		for _, o := range some.Services {
			s.takeService(o, present)
		}
		for _, p := range some.SessionPolicies {
			s.takePolicy(p, present)
		}
		for _, ref := range some.Refused {
			s.takeRefused(ref, present)
		}
	}
	s.takeContext(gone, came)
	s.takeSlices(gone, came)
	for _, some := range []*resource.Objects{gone, came} {
		others := *some
		others.Slices = nil
		s.visitKeys(&others, s.change)
	}
}

// takeTargets notes what policies can be attached to. Policies say so where their targets are not there.
func (s *State) takeTargets(some *resource.Objects, present bool) {
	policy.VisitTargets(some, func(e resource.Entry) {
		if present {
			s.objects.targets.Add(e)
		} else {
			s.objects.targets.Remove(e)
		}
		s.changeTarget(e.Ref)
	})
}

// changeTarget marks the policies that name an object as their target.
func (s *State) changeTarget(ref object.Ref) {
	for p := range s.objects.policiesAt[ref] {
		s.marks.policies[p] = true
	}
	s.marks.base = s.marks.base || len(s.objects.targetedBy[ref]) > 0
}

// takeRoute marks a route, which becomes part of a group then, or of the base if it is for connections.
func (s *State) takeRoute(route *gateway.Route, present bool) {
	o, ref := s.objects, route.Ref()
	s.layout.changed[ref] = true
	if resource.IsStreamRoute(route.Value.Kind) {
		s.marks.base = true
		put(o.streams, ref, route, present)
		return
	}
	s.marks.routes[ref] = true
	if put(o.routes, ref, route, present); present {
		o.graph.Set(ref, s.newNode(route))
	} else {
		o.graph.Remove(ref)
	}
}

// visitBackends visits what a route leads to, be it there or not.
func visitBackends(route *gateway.Route, visit func(ref gatewayv1.BackendRef, namespace string)) {
	visitIn := func(ref gatewayv1.BackendRef) {
		namespace := route.Namespace
		if ref.Namespace != nil {
			namespace = string(*ref.Namespace)
		}
		visit(ref, namespace)
	}
	for _, rule := range route.Value.Spec.Rules {
		for _, ref := range rule.BackendRefs {
			visitIn(ref.BackendRef)
		}
		for _, f := range rule.Filters {
			if f.RequestMirror != nil {
				visitIn(gatewayv1.BackendRef{BackendObjectReference: f.RequestMirror.BackendRef})
			}
			if f.ExternalAuth != nil {
				visitIn(gatewayv1.BackendRef{BackendObjectReference: f.ExternalAuth.BackendRef})
			}
		}
	}
}

// takeService keeps a Service, or forgets it.
func (s *State) takeService(o *service, present bool) {
	put(s.objects.services, o.Key(), o, present)
	s.objects.noteNamespace(o.Namespace, o.Key())
	s.objects.local.Set(o.Key(), o.Ref(), present && o.Value.Spec.Type == corev1.ServiceTypeExternalName)
}

// takeSlices is take for EndpointSlices, which nothing depends on but what is behind Services.
func (s *State) takeSlices(gone, came *resource.Objects) {
	for i, some := range []*resource.Objects{gone, came} {
		for _, o := range some.Slices {
			s.takeSlice(o, i == 1)
			s.changeEndpoints(resource.ServiceOf(o))
		}
	}
	if len(gone.Slices)+len(came.Slices) > 0 && len(s.selected.keeping) > 0 {
		s.selected.stale = true
	}
}

// takeSlice keeps an EndpointSlice with its Service, or forgets it.
func (s *State) takeSlice(o *endpointSlice, present bool) {
	key := resource.ServiceOf(o)
	s.objects.slices.Set(key, o, present)
	s.objects.noteNamespace(o.Namespace, key)
	s.objects.local.Set(key, o.Ref(), present && s.mayLeadToLocal(o))
}

// mayBeAnywhere tells whether the hosts of a Service may be at any address, so that they depend on where endpoints may
// be: one leads to Envoy's own machine, or is a pod that the Service has left.
func (s *State) mayBeAnywhere(service string) bool {
	return len(s.objects.local[service]) > 0 || len(s.selected.now.LeftBy(service)) > 0
}

// mayLeadToLocal reports whether a slice has hosts that may be on Envoy's own machine: a name, for which that is not
// known, too.
func (s *State) mayLeadToLocal(o *endpointSlice) bool {
	if o.Value.AddressType == discoveryv1.AddressTypeFQDN {
		return true
	}
	return hasEndpointAt(o, func(address netip.Addr) bool {
		return address.IsLoopback() || slices.Contains(s.settings.Steps.Machine, address)
	})
}

// hasEndpointAt tells whether a slice has an endpoint at some address.
func hasEndpointAt(o *endpointSlice, is func(netip.Addr) bool) bool {
	return slices.ContainsFunc(o.Value.Endpoints, func(e discoveryv1.Endpoint) bool {
		return slices.ContainsFunc(e.Addresses, func(text string) bool {
			address, err := netip.ParseAddr(text)
			return err == nil && is(address)
		})
	})
}

// takePolicy keeps a policy with its targets, or forgets it, and marks its own part.
func (s *State) takePolicy(p *sessionPolicy, present bool) {
	s.marks.policies[p] = true
	put(s.objects.policies, p.Ref(), p, present)
	for _, at := range precedence.ListTargets(p.Namespace, &p.Value.Spec) {
		s.objects.policiesAt.Set(at.Target.Ref, p, present)
		if isListening(at.Target.Ref) {
			s.statuses.mark(at.Target.Ref)
		}
	}
}

// takeRefused keeps that an object is no good, or forgets it.
func (s *State) takeRefused(ref object.Ref, present bool) {
	put(s.objects.refused, ref, true, present)
	s.objects.targets.SetRefused(ref, present)
	s.changeTarget(ref)
}

// takeContext takes in what is left: objects that all routes may depend on.
func (s *State) takeContext(gone, came *resource.Objects) {
	was := s.objects.context
	now := &resource.Objects{
		Secrets:         replace(was.Secrets, gone.Secrets, came.Secrets),
		ConfigMaps:      replace(was.ConfigMaps, gone.ConfigMaps, came.ConfigMaps),
		HostRoutes:      replace(was.HostRoutes, gone.HostRoutes, came.HostRoutes),
		Classes:         replace(was.Classes, gone.Classes, came.Classes),
		Gateways:        replace(was.Gateways, gone.Gateways, came.Gateways),
		ListenerSets:    replace(was.ListenerSets, gone.ListenerSets, came.ListenerSets),
		Grants:          replace(was.Grants, gone.Grants, came.Grants),
		LoadBalancers:   replace(was.LoadBalancers, gone.LoadBalancers, came.LoadBalancers),
		TrafficPolicies: replace(was.TrafficPolicies, gone.TrafficPolicies, came.TrafficPolicies),
		BackendTLS:      replace(was.BackendTLS, gone.BackendTLS, came.BackendTLS),
		Backends:        replace(was.Backends, gone.Backends, came.Backends),
		Namespaces:      replace(was.Namespaces, gone.Namespaces, came.Namespaces),
		AuthServices:    replace(was.AuthServices, gone.AuthServices, came.AuthServices),
		Controller:      was.Controller,
	}
	for ref := range s.objects.refused {
		switch ref.Kind {
		case object.KindGateway, object.KindGatewayClass, object.KindListenerSet, object.KindXBackend,
			object.KindSecret, object.KindConfigMap:
			now.Refused = append(now.Refused, ref)
		}
	}
	now.Sort()
	if now.Equal(was) {
		return
	}
	s.objects.setContext(now)
	s.marks.base = true
	s.layout.touch(gone, came)
}

// replace gives a list without what is gone, and with what came.
func replace[T any](list, gone, came []*resource.Object[T]) []*resource.Object[T] {
	if len(gone)+len(came) == 0 {
		return list
	}
	away := map[*resource.Object[T]]bool{}
	for _, o := range gone {
		away[o] = true
	}
	return append(slices.DeleteFunc(slices.Clone(list), func(o *resource.Object[T]) bool { return away[o] }), came...)
}
