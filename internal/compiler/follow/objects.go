package follow

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/coupling"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
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
)

// inventory is the input, by what asks for it.
type inventory struct {
	// context are the objects that all routes may depend on, and those that the frame alone reads: Secrets, ConfigMaps and routes with a Host.
	context *resource.Objects
	// shared are those of them that every group has, and namespaces are by their names.
	shared     *resource.Objects
	namespaces map[string]*resource.Object[resource.Namespace]
	// refused are objects that are no good.
	refused map[object.Ref]bool
	routes  map[object.Ref]*gateway.Route
	// streams are the routes of connections and datagrams.
	streams map[object.Ref]*gateway.Route
	// services are by namespace/name, slices by that of their Service, and policies by their targets.
	services map[string]*service
	slices   index.Sets[string, *endpointSlice]
	// inNamespace are the keys of services and slices.
	inNamespace index.Sets[string, string]
	policies    map[*sessionPolicy]bool
	policiesAt  index.Sets[object.Ref, *sessionPolicy]
	targets     *policy.Targets
	// readers are the routes that lead to something, by its readerKey; touching are those of each namespace and those that lead into
	// it, and atPlace those of each place.
	readers  index.Sets[readerKey, object.Ref]
	touching index.Sets[string, object.Ref]
	atPlace  index.Sets[string, object.Ref]
	// inward are the Services that may lead to Envoy's own machine, by namespace/name, with what says so.
	inward index.Sets[string, object.Ref]
	graph  *coupling.Graph
	// gatewayOfSet has the key of the Gateway that a ListenerSet is for.
	gatewayOfSet map[object.Ref]string
	// named counts the objects of each name, and duplicates those names that several have.
	named      map[object.Ref]int
	duplicates int
	// unfollowed counts the objects of kinds that are not followed.
	unfollowed int
	// balancersIn are the LoadBalancerPolicies of each namespace.
	balancersIn map[string][]*loadBalancerPolicy
	// verifying counts the objects of each namespace that want hosts to show who they are.
	verifying map[string]int
}

// readerKey is what a route reads: a Service by namespace/name or, with XBackends, all Services and slices of a namespace.
type readerKey struct{ service, xbackends string }

// namespace is that of what is read.
func (k readerKey) namespace() string {
	if k.xbackends != "" {
		return k.xbackends
	}
	return namespaceOf(k.service)
}

func namespaceOf(key string) string {
	namespace, _, _ := strings.Cut(key, "/")
	return namespace
}

func newInventory(controller gatewayv1.GatewayController) *inventory {
	return &inventory{
		context: &resource.Objects{Controller: controller}, shared: &resource.Objects{Controller: controller},
		namespaces: map[string]*resource.Object[resource.Namespace]{}, refused: map[object.Ref]bool{},
		routes: map[object.Ref]*gateway.Route{}, streams: map[object.Ref]*gateway.Route{},
		services: map[string]*service{}, inNamespace: index.Sets[string, string]{}, slices: index.Sets[string, *endpointSlice]{},
		policies:   map[*sessionPolicy]bool{},
		policiesAt: index.Sets[object.Ref, *sessionPolicy]{}, targets: policy.NewTargets(0),
		readers: index.Sets[readerKey, object.Ref]{}, touching: index.Sets[string, object.Ref]{}, atPlace: index.Sets[string, object.Ref]{},
		inward: index.Sets[string, object.Ref]{}, graph: coupling.NewGraph(),
		gatewayOfSet: map[object.Ref]string{}, balancersIn: map[string][]*loadBalancerPolicy{}, verifying: map[string]int{},
		named: map[object.Ref]int{},
	}
}

// take brings the indexes up to date, and marks what depends on the objects that went and came.
func (s *State) take(gone, came *resource.Objects) {
	for i, some := range []*resource.Objects{gone, came} {
		present := i == 1
		s.takeTargets(some, present)
		s.selected.take(some, present)
		for _, r := range slices.Concat(some.Routes, some.HostRoutes) {
			s.objects.countVerifying(r.Namespace, r.Verifies(), present)
			s.takeRoute(r, present)
		}
		for _, b := range some.Backends {
			s.objects.countVerifying(b.Namespace, b.Value.Validation() != nil, present)
		}
		for _, p := range some.BackendTLS {
			s.objects.countVerifying(p.Namespace, true, present)
		}
		for _, o := range some.Services {
			s.takeService(o, present)
		}
		for _, o := range some.Slices {
			s.takeSlice(o, present)
		}
		for _, p := range some.SessionPolicies {
			s.takePolicy(p, present)
		}
		for _, ref := range some.Refused {
			s.takeRefused(ref, present)
		}
	}
	s.takeContext(gone, came)
}

// takeTargets notes what policies can be attached to. Policies say so where their targets are not there.
func (s *State) takeTargets(some *resource.Objects, present bool) {
	policy.VisitTargets(some, func(e resource.Entry) {
		if present {
			s.objects.targets.Add(e)
		} else {
			s.objects.targets.Remove(e)
		}
		for p := range s.objects.policiesAt[e.Ref] {
			s.marks.policies[p] = true
		}
		// Policies of other kinds are in the frame.
		s.marks.frame = s.marks.frame || s.objects.hasServicePolicies()
	})
	all := func(resource.Traits) bool { return true }
	some.Visit(all, func(e resource.Entry) { s.objects.count(e.Ref, present) })
}

// hasServicePolicies reports whether there are policies that the frame reads for all.
func (o *inventory) hasServicePolicies() bool {
	return len(o.context.LoadBalancers)+len(o.context.TrafficPolicies)+len(o.context.BackendTLS) > 0
}

// count notes how many objects have a name.
func (o *inventory) count(ref object.Ref, present bool) {
	if ref.Kind == object.KindGatewayClass {
		ref.Namespace = ""
	}
	if present {
		if o.named[ref]++; o.named[ref] == 2 {
			o.duplicates++
		}
		if resource.IsAuthService(ref.Kind) {
			o.unfollowed++
		}
		return
	}
	if resource.IsAuthService(ref.Kind) {
		o.unfollowed--
	}
	if o.named[ref]--; o.named[ref] == 1 {
		o.duplicates--
	} else if o.named[ref] == 0 {
		delete(o.named, ref)
	}
}

// countVerifying counts an object among those of a namespace that want hosts to show who they are, for that takes Secrets or ConfigMaps.
func (o *inventory) countVerifying(namespace string, verifies, present bool) {
	switch {
	case !verifies:
	case present:
		o.verifying[namespace]++
	default:
		if o.verifying[namespace]--; o.verifying[namespace] == 0 {
			delete(o.verifying, namespace)
		}
	}
}

// takeRoute marks a route, which becomes part of a group then.
func (s *State) takeRoute(route *gateway.Route, present bool) {
	o, ref := s.objects, route.Origin().Ref
	s.markRoute(ref)
	s.layout.changed[ref] = true
	for _, key := range listReads(route) {
		o.readers.Set(key, ref, present)
		o.touching.Set(key.namespace(), ref, present)
	}
	if resource.IsStreamRoute(ref.Kind) {
		o.setStream(route, present)
		return
	}
	s.setPlaces(route, present)
	o.touching.Set(route.Namespace, ref, present)
	if !present {
		delete(o.routes, ref)
		o.graph.Remove(ref)
		return
	}
	o.routes[ref] = route
	o.graph.Set(ref, s.newNode(route))
}

// setStream keeps a route of connections, or forgets it.
func (o *inventory) setStream(route *gateway.Route, present bool) {
	if ref := route.Origin().Ref; present {
		o.streams[ref] = route
	} else {
		delete(o.streams, ref)
	}
}

// listReads lists what a route leads to, be it there or not.
func listReads(route *gateway.Route) (keys []readerKey) {
	visitBackends(route, func(ref gatewayv1.BackendRef, namespace string) {
		key := readerKey{service: namespace + "/" + string(ref.Name)}
		if backend.IsXBackend(ref) {
			key = readerKey{xbackends: namespace}
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	})
	return keys
}

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

// takeService marks the routes that lead to a Service.
func (s *State) takeService(o *service, present bool) {
	if present {
		s.objects.services[o.Key()] = o
	} else {
		delete(s.objects.services, o.Key())
	}
	s.objects.noteNamespace(o.Namespace, o.Key())
	s.objects.inward.Set(o.Key(), o.Origin().Ref, present && o.Value.Spec.Type == corev1.ServiceTypeExternalName)
	s.markReaders(o.Key(), o.Namespace)
}

// takeSlice marks the routes that lead to the Service of an EndpointSlice.
func (s *State) takeSlice(o *endpointSlice, present bool) {
	key := o.Namespace + "/" + o.Labels[discoveryv1.LabelServiceName]
	s.objects.slices.Set(key, o, present)
	s.objects.noteNamespace(o.Namespace, key)
	s.objects.inward.Set(key, o.Origin().Ref, present && s.mayLeadInward(o))
	s.markReaders(key, o.Namespace)
}

// mayLeadInward reports whether a slice has hosts that may be on Envoy's own machine: a name, for which that is not known, too.
func (s *State) mayLeadInward(o *endpointSlice) bool {
	if o.Value.AddressType == discoveryv1.AddressTypeFQDN {
		return true
	}
	return slices.ContainsFunc(o.Value.Endpoints, func(e discoveryv1.Endpoint) bool {
		return slices.ContainsFunc(e.Addresses, func(text string) bool {
			address, err := netip.ParseAddr(text)
			return err == nil && (address.IsLoopback() || slices.Contains(s.settings.Steps.Machine, address))
		})
	})
}

// noteNamespace keeps the key of a Service or of its slices among those of a namespace, as long as there are any.
func (o *inventory) noteNamespace(namespace, key string) {
	o.inNamespace.Set(namespace, key, o.services[key] != nil || len(o.slices[key]) > 0)
}

// takePolicy marks the routes that a policy can have an effect on: all of them if it is attached to a GatewayClass.
func (s *State) takePolicy(p *sessionPolicy, present bool) {
	s.marks.policies[p] = true
	if present {
		s.objects.policies[p] = true
	} else {
		delete(s.objects.policies, p)
	}
	for _, at := range precedence.ListTargets(p.Namespace, &p.Value.Spec) {
		s.objects.policiesAt.Set(at.Target.Ref, p, present)
		switch at.Target.Kind {
		case object.KindGatewayClass:
			s.marks.all = true
		case object.KindGateway:
			s.markGateway(at.Target.Key())
		case object.KindService:
			s.mark(s.objects.readers[readerKey{service: at.Target.Key()}])
		default:
			s.markRoute(at.Target.Ref)
		}
	}
}

// takeRefused marks what refers to an object that is no good, and is told so.
func (s *State) takeRefused(ref object.Ref, present bool) {
	s.objects.count(ref, present)
	if present {
		s.objects.refused[ref] = true
	} else {
		delete(s.objects.refused, ref)
	}
	if ref.Kind == object.KindService {
		s.marks.frame = s.marks.frame || s.objects.hasServicePolicies()
		s.markReaders(ref.Key(), ref.Namespace)
	}
}

// takeContext takes in what is left: objects that all routes may depend on.
func (s *State) takeContext(gone, came *resource.Objects) {
	was := s.objects.context
	now := &resource.Objects{
		Secrets:    replace(was.Secrets, gone.Secrets, came.Secrets),
		ConfigMaps: replace(was.ConfigMaps, gone.ConfigMaps, came.ConfigMaps),
		HostRoutes: replace(was.HostRoutes, gone.HostRoutes, came.HostRoutes),
		Classes:    replace(was.Classes, gone.Classes, came.Classes), Gateways: replace(was.Gateways, gone.Gateways, came.Gateways),
		ListenerSets:    replace(was.ListenerSets, gone.ListenerSets, came.ListenerSets),
		Grants:          replace(was.Grants, gone.Grants, came.Grants),
		LoadBalancers:   replace(was.LoadBalancers, gone.LoadBalancers, came.LoadBalancers),
		TrafficPolicies: replace(was.TrafficPolicies, gone.TrafficPolicies, came.TrafficPolicies),
		BackendTLS:      replace(was.BackendTLS, gone.BackendTLS, came.BackendTLS),
		Backends:        replace(was.Backends, gone.Backends, came.Backends),
		Namespaces:      replace(was.Namespaces, gone.Namespaces, came.Namespaces),
		Controller:      was.Controller,
	}
	for ref := range s.objects.refused {
		switch ref.Kind {
		case object.KindGateway, object.KindGatewayClass, object.KindListenerSet, object.KindXBackend:
			now.Refused = append(now.Refused, ref)
		}
	}
	now.Sort()
	if now.Equal(was) {
		return
	}
	s.objects.context, s.objects.shared, s.marks.frame = now, newShared(now), true
	s.layout.touch(gone, came)
	if len(gone.LoadBalancers)+len(came.LoadBalancers) > 0 {
		s.objects.balancersIn = map[string][]*loadBalancerPolicy{}
		for _, p := range now.LoadBalancers {
			s.objects.balancersIn[p.Namespace] = append(s.objects.balancersIn[p.Namespace], p)
		}
	}
	clear(s.objects.namespaces)
	for _, n := range now.Namespaces {
		s.objects.namespaces[n.Name] = n
	}
	s.takeListenerSets(gone.ListenerSets, came.ListenerSets)
	s.markContext(gone)
	s.markContext(came)
	s.markRefused(was.Refused, now.Refused)
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
