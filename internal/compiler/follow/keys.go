package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// key is something that is asked for while the objects of a part are gathered: it may be found, be no good or not be
// there. A part keeps the keys that it asked for, and is made again when the answer to one of them may be another.
type key struct {
	about subject
	of    object.Ref
}

// subject is what is asked about an object.
type subject int

const (
	// endpoints are a Service, its slices and the pods that it has left, and selectable those of all Services of a
	// namespace, with slices of none.
	endpoints subject = iota
	selectable
	// policies are the session policies that are attached to a Service, a route or a Namespace.
	policies
	// listeners are all that says where requests arrive by way of a Gateway, a GatewayClass or a ListenerSet, and the
	// session policies that are attached there; without a name those of all Gateways.
	listeners
	// contents are the objects with a say in a whole namespace.
	contents
	// backends are XBackends, which contents has for the parts.
	backends
	// places are the addresses that endpoints may not have.
	places
)

func endpointsKey(service string) key {
	return key{endpoints, object.ParseKey(object.KindService, service)}
}

func selectableKey(namespace string) key { return key{selectable, object.Ref{Namespace: namespace}} }

// listenersKey is that of a Gateway by its key; empty for all Gateways.
func listenersKey(gateway string) key {
	return key{listeners, object.ParseKey(object.KindGateway, gateway)}
}

func classKey(name string) key {
	return key{listeners, object.Ref{Kind: object.KindGatewayClass, Name: name}}
}

func contentsKey(namespace string) key { return key{contents, object.Ref{Namespace: namespace}} }

// change marks the parts that asked for something.
func (s *State) change(k key) {
	for g := range s.askers[k] {
		s.marks.routes[g.routes[0]] = true
	}
	s.marks.base = s.marks.base || s.base != nil && s.base.asked[k]
}

// changeGateway marks the parts that asked for a Gateway's listeners, or for all.
func (s *State) changeGateway(gateway string) {
	visitListeners(object.ParseKey(object.KindGateway, gateway), s.change)
}

// visitKeys visits the keys of which some objects are in the answers.
func (s *State) visitKeys(some *resource.Objects, visit func(key)) {
	for _, o := range some.Services {
		visitEndpoints(o.Key(), visit)
	}
	for _, o := range some.Slices {
		visitEndpoints(resource.ServiceOf(o), visit)
	}
	for _, p := range some.SessionPolicies {
		for _, at := range precedence.ListTargets(p.Namespace, &p.Value.Spec) {
			switch ref := at.Target.Ref; ref.Kind {
			case object.KindGateway, object.KindGatewayClass:
				visitListeners(ref, visit)
			default:
				visit(key{policies, ref})
			}
		}
	}
	s.visitListenerKeys(some, visit)
	s.visitContentsKeys(some, visit)
	for _, ref := range some.Refused {
		if resource.IsAuthService(ref.Kind) {
			visit(contentsKey(ref.Namespace))
		}
		switch ref.Kind {
		case object.KindService:
			visitEndpoints(ref.Key(), visit)
		case object.KindGateway, object.KindGatewayClass, object.KindListenerSet:
			visitListeners(ref, visit)
		case object.KindXBackend:
			visit(contentsKey(ref.Namespace))
		case object.KindSecret, object.KindConfigMap:
			if s.objects.verifying[ref.Namespace] > 0 {
				visit(contentsKey(ref.Namespace))
			}
		}
	}
}

func visitEndpoints(service string, visit func(key)) {
	k := endpointsKey(service)
	visit(k)
	visit(selectableKey(k.of.Namespace))
}

func visitListeners(ref object.Ref, visit func(key)) {
	if ref.Kind == object.KindGatewayClass {
		ref.Namespace = ""
	}
	visit(key{listeners, ref})
	visit(listenersKey(""))
}

func (s *State) visitListenerKeys(some *resource.Objects, visit func(key)) {
	for _, o := range some.Classes {
		visitListeners(o.Ref(), visit)
	}
	for _, o := range some.Gateways {
		visitListeners(o.Ref(), visit)
	}
	for _, set := range some.ListenerSets {
		visitListeners(set.Ref(), visit)
		visit(listenersKey(resource.GatewayOf(set)))
	}
	for _, n := range some.Namespaces {
		for _, set := range s.objects.context.ListenerSets {
			if set.Namespace == n.Name {
				visit(listenersKey(resource.GatewayOf(set)))
				visit(listenersKey(""))
			}
		}
	}
}

func (s *State) visitContentsKeys(some *resource.Objects, visit func(key)) {
	for _, n := range some.Namespaces {
		visit(contentsKey(n.Name))
	}
	visitNamespaces(some.Grants, visit)
	visitNamespaces(some.LoadBalancers, visit)
	visitNamespaces(some.TrafficPolicies, visit)
	visitNamespaces(some.Backends, visit)
	visitNamespaces(some.AuthServices, visit)
	visitNamespaces(some.BackendTLS, visit)
	// On other Secrets and ConfigMaps than those with authorities by which hosts are verified the base alone depends.
	verifying := func(k key) {
		if s.objects.verifying[k.of.Namespace] > 0 {
			visit(k)
		}
	}
	visitNamespaces(some.Secrets, verifying)
	visitNamespaces(some.ConfigMaps, verifying)
}

func visitNamespaces[T any](some []*resource.Object[T], visit func(key)) {
	for _, o := range some {
		visit(contentsKey(o.Namespace))
	}
}
