package follow

import (
	"maps"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// gatherer collects the objects that a part may depend on, each once, and the keys by which it asked for them.
type gatherer struct {
	from  *State
	all   *resource.Objects
	asked map[key]bool
}

func newGatherer(from *State) *gatherer {
	return &gatherer{from, &resource.Objects{Controller: from.objects.context.Controller}, map[key]bool{}}
}

// ask notes that something is asked for, and tells whether that is new.
func (g *gatherer) ask(k key) bool {
	if g.asked[k] {
		return false
	}
	g.asked[k] = true
	return true
}

// gather gives some routes together with all objects that they may depend on, and the keys of these.
func (s *State) gather(routes []object.Ref) (*resource.Objects, []key) {
	g := newGatherer(s)
	for _, ref := range routes {
		g.addRoute(s.objects.routes[ref])
	}
	all := g.all
	all.Sort()
	// What Gateways, ListenerSets and namespaces have in common was added with each of them.
	all.Gateways, all.ListenerSets = slices.Compact(all.Gateways), slices.Compact(all.ListenerSets)
	all.Classes, all.Grants = slices.Compact(all.Classes), slices.Compact(all.Grants)
	all.Namespaces = slices.Compact(all.Namespaces)
	all.Secrets, all.ConfigMaps = slices.Compact(all.Secrets), slices.Compact(all.ConfigMaps)
	all.Refused, all.SessionPolicies = slices.Compact(all.Refused), slices.Compact(all.SessionPolicies)
	return all, slices.AppendSeq(make([]key, 0, len(g.asked)), maps.Keys(g.asked))
}

// add adds a route by itself.
func (g *gatherer) add(route *gateway.Route) {
	if route.Host == nil {
		g.all.Routes = append(g.all.Routes, route)
	} else {
		g.all.HostRoutes = append(g.all.HostRoutes, route)
	}
}

func (g *gatherer) addRoute(route *gateway.Route) {
	g.add(route)
	g.addPolicies(route.Ref())
	g.addPolicies(object.Ref{Kind: object.KindNamespace, Name: route.Namespace})
	g.addParents(route)
	g.addContents(route.Namespace)
	if n := g.from.objects.namespaces[route.Namespace]; n != nil {
		g.all.Namespaces = append(g.all.Namespaces, n)
	}
	g.addReads(route)
}

// addParents adds what says where a route's requests arrive.
func (g *gatherer) addParents(route *gateway.Route) {
	for _, ref := range route.Value.Spec.ParentRefs {
		parent := gateway.ParentRef(route, ref)
		if parent.Kind != object.KindListenerSet || !g.ask(key{listeners, parent}) {
			continue
		}
		if set := g.from.objects.sets[parent]; set != nil {
			g.all.ListenerSets = append(g.all.ListenerSets, set)
		}
		g.addRefused(parent)
	}
	for _, place := range g.from.listPlaces(route) {
		g.addPlace(place)
	}
}

// addPlace adds a Gateway, by its key, or all of them, with the session policies that are attached to it and to its
// class.
func (g *gatherer) addPlace(place string) {
	if !g.ask(listenersKey(place)) {
		return
	}
	if place != "" {
		g.addRefused(object.ParseKey(object.KindGateway, place))
	}
	view := g.from.objects.views[place]
	if view == nil {
		return
	}
	g.all.Classes, g.all.Gateways = append(g.all.Classes, view.Classes...), append(g.all.Gateways, view.Gateways...)
	g.all.ListenerSets = append(g.all.ListenerSets, view.ListenerSets...)
	g.all.Namespaces = append(g.all.Namespaces, view.Namespaces...)
	g.all.Secrets, g.all.ConfigMaps = append(g.all.Secrets, view.Secrets...), append(g.all.ConfigMaps, view.ConfigMaps...)
	g.all.Grants, g.all.Refused = append(g.all.Grants, view.Grants...), append(g.all.Refused, view.Refused...)
	for _, o := range view.Gateways {
		class := string(o.Value.Spec.GatewayClassName)
		if place != "" {
			g.ask(classKey(class))
		}
		g.addPoliciesAt(object.Ref{Kind: object.KindGatewayClass, Name: class})
		g.addPoliciesAt(o.Ref())
	}
}

// addReads adds what a route leads to.
func (g *gatherer) addReads(route *gateway.Route) {
	visitBackends(route, func(ref gatewayv1.BackendRef, namespace string) {
		switch {
		case ref.Kind != nil && resource.IsAuthService(string(*ref.Kind)):
			g.addAuthService(object.Ref{Kind: string(*ref.Kind), Namespace: namespace, Name: string(ref.Name)})
			return
		case !backend.IsXBackend(ref):
			g.addService(namespace + "/" + string(ref.Name))
			return
		}
		g.addContents(namespace)
		o := object.Ref{Kind: object.KindXBackend, Namespace: namespace, Name: string(ref.Name)}
		if g.ask(key{backends, o}) {
			g.addRefused(o)
		}
		g.ask(key{about: places})
		if g.ask(selectableKey(namespace)) {
			for key := range g.from.objects.inNamespace[namespace] {
				g.addService(key)
			}
		}
	})
}

// addAuthService adds what is behind one, which is among the contents of its namespace.
func (g *gatherer) addAuthService(ref object.Ref) {
	g.addContents(ref.Namespace)
	g.addRefused(ref)
	for _, o := range g.from.objects.askedIn[ref.Namespace] {
		if o.Name == ref.Name {
			g.addService(o.Namespace + "/" + string(o.Value.Backend().Name))
		}
	}
}

// addContents adds the objects with a say in a whole namespace. Those about TLS to backends the base reads for all.
func (g *gatherer) addContents(namespace string) {
	if !g.ask(contentsKey(namespace)) {
		return
	}
	o := g.from.objects
	g.all.LoadBalancers = append(g.all.LoadBalancers, o.balancersIn[namespace]...)
	g.all.TrafficPolicies = append(g.all.TrafficPolicies, o.trafficIn[namespace]...)
	g.all.Backends = append(g.all.Backends, o.backendsIn[namespace]...)
	g.all.AuthServices = append(g.all.AuthServices, o.askedIn[namespace]...)
	g.all.Grants = append(g.all.Grants, o.grantsIn[namespace]...)
}

// addService adds a Service and what belongs to it, be it there or not.
func (g *gatherer) addService(name string) {
	k, o := endpointsKey(name), g.from.objects
	if !g.ask(k) {
		return
	}
	g.addContents(k.of.Namespace)
	if g.from.mayBeAnywhere(name) {
		g.ask(key{about: places})
	}
	if found := o.services[name]; found != nil {
		g.all.Services = append(g.all.Services, found)
	} else {
		g.addRefused(k.of)
	}
	g.addPolicies(k.of)
	for slice := range o.slices[name] {
		g.all.Slices = append(g.all.Slices, slice)
	}
}

// addPolicies adds the session policies that are attached to a Service or a route.
func (g *gatherer) addPolicies(at object.Ref) {
	if g.ask(key{policies, at}) {
		g.addPoliciesAt(at)
	}
}

func (g *gatherer) addPoliciesAt(at object.Ref) {
	for p := range g.from.objects.policiesAt[at] {
		g.all.SessionPolicies = append(g.all.SessionPolicies, p)
	}
}

// addRefused adds that an object is no good, if it is.
func (g *gatherer) addRefused(ref object.Ref) {
	if g.from.objects.refused[ref] {
		g.all.Refused = append(g.all.Refused, ref)
	}
}
