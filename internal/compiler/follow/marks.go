package follow

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// marks are what has to be made anew.
type marks struct {
	frame    bool
	all      bool // every group
	routes   map[object.Ref]bool
	policies map[*sessionPolicy]bool
}

func newMarks() marks {
	return marks{frame: true, routes: map[object.Ref]bool{}, policies: map[*sessionPolicy]bool{}}
}

func (s *State) mark(routes map[object.Ref]bool) {
	for route := range routes {
		s.markRoute(route)
	}
}

// markRoute marks the group of a route, or the frame for one of connections.
func (s *State) markRoute(ref object.Ref) {
	if resource.IsStreamRoute(ref.Kind) {
		s.marks.frame = true
		return
	}
	s.marks.routes[ref] = true
}

// markReaders marks the routes that lead to a Service, and those that lead to an XBackend of its namespace, which may select it.
func (s *State) markReaders(key, namespace string) {
	s.mark(s.objects.readers[readerKey{service: key}])
	s.mark(s.objects.readers[readerKey{xbackends: namespace}])
}

// markNamespace marks the routes of a namespace and those that lead into it.
func (s *State) markNamespace(name string) { s.mark(s.objects.touching[name]) }

// markGateway marks the routes that a Gateway's listeners may take: all of them where Gateways share ports.
func (s *State) markGateway(key string) {
	if !s.settings.Steps.Apart {
		s.marks.all = true
		return
	}
	s.mark(s.objects.atPlace[key])
	s.mark(s.objects.atPlace[""])
}

// markContext marks the routes that depend on objects which are nobody's alone, and that went or came.
func (s *State) markContext(some *resource.Objects) {
	s.marks.all = s.marks.all || len(some.Classes) > 0
	for _, o := range some.Gateways {
		s.markGateway(o.Key())
	}
	for _, o := range some.ListenerSets {
		s.markGateway(resource.GatewayOf(o))
	}
	for _, n := range some.Namespaces {
		s.markNamespace(n.Name)
		for _, set := range s.objects.context.ListenerSets {
			if set.Namespace == n.Name {
				s.markGateway(resource.GatewayOf(set))
			}
		}
	}
	markNamespaces(s, some.Grants)
	markNamespaces(s, some.LoadBalancers)
	markNamespaces(s, some.TrafficPolicies)
	markNamespaces(s, some.Backends)
	markNamespaces(s, some.BackendTLS)
	markVerified(s, some.Secrets)
	markVerified(s, some.ConfigMaps)
}

// markVerified marks what depends on objects with certificates of authorities by which hosts are verified. On what else these hold the
// frame alone depends.
func markVerified[T any](s *State, some []*resource.Object[T]) {
	for _, o := range some {
		if s.objects.verifying[o.Namespace] > 0 {
			s.markNamespace(o.Namespace)
		}
	}
}

// markNamespaces marks what depends on objects that have a say in their own namespace alone.
func markNamespaces[T any](s *State, some []*resource.Object[T]) {
	for _, o := range some {
		s.markNamespace(o.Namespace)
	}
}

// markRefused marks the routes that are told that an object is no good, where others are so now.
func (s *State) markRefused(was, now []object.Ref) {
	for _, list := range [][2][]object.Ref{{was, now}, {now, was}} {
		for _, ref := range list[0] {
			switch {
			case slices.Contains(list[1], ref):
			case ref.Kind == object.KindGateway:
				s.markGateway(ref.Key())
			case ref.Kind == object.KindXBackend:
				s.markNamespace(ref.Namespace)
			default:
				s.marks.all = true
			}
		}
	}
}

// markInward marks the routes with hosts of which what limpet's own addresses are says whether they may be there.
func (s *State) markInward(was, now *backend.Places) {
	if was.Equal(now) {
		return
	}
	for _, namespace := range was.ListMoved(now) {
		s.markNamespace(namespace)
	}
	for key, because := range s.objects.inward {
		for of := range because {
			s.markReaders(key, of.Namespace)
		}
	}
	for _, service := range (*backend.Selection)(nil).ListMoved(s.selected.now) { // all that have left some
		s.markReaders(service, namespaceOf(service))
	}
	for _, b := range s.objects.context.Backends {
		s.markNamespace(b.Namespace)
	}
}
