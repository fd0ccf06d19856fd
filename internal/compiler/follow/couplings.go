package follow

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/coupling"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// newNode is what a route is coupled by before anything is known of its cookies.
func (s *State) newNode(route *gateway.Route) coupling.Node {
	n, names := coupling.Node{Keys: listBackendKeys(route)}, route.Value.Spec.Hostnames
	if len(names) == 0 {
		names = []gatewayv1.Hostname{"*"}
	}
	for _, place := range s.listPlaces(route) {
		for _, name := range names {
			n.Hosts = append(n.Hosts, coupling.Host{Where: place, Name: string(name)})
		}
	}
	return n
}

// listPlaces lists the keys of the Gateways by which a route's requests come in. Where Gateways have proxies of their
// own they share no request; else they may share ports, and all are one place. A route with a Host may be on every
// Gateway.
func (s *State) listPlaces(route *gateway.Route) (places []string) {
	if !s.settings.Steps.Apart || route.Host != nil {
		return []string{""}
	}
	for _, ref := range route.Value.Spec.ParentRefs {
		place := ""
		switch parent := gateway.ParentRef(route, ref); parent.Kind {
		case object.KindGateway:
			place = parent.Key()
		case object.KindListenerSet:
			if set := s.objects.sets[parent]; set != nil {
				place = resource.GatewayOf(set)
			}
		}
		if place != "" && !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// takeListenerSets brings the routes on ListenerSets that went or came to the places where they are now.
func (s *State) takeListenerSets(gone, came []*resource.ListenerSet) {
	for _, set := range gone {
		delete(s.objects.sets, set.Ref())
	}
	for _, set := range came {
		s.objects.sets[set.Ref()] = set
	}
	for _, set := range slices.Concat(gone, came) {
		for g := range s.askers[key{listeners, set.Ref()}] {
			for _, ref := range g.routes {
				if route := s.objects.routes[ref]; route != nil {
					s.objects.graph.Set(ref, s.newNode(route))
				}
			}
		}
	}
}

// listBackendKeys lists the XBackends that a route leads to: they can have a session of their own, which routes share.
func listBackendKeys(route *gateway.Route) (keys []string) {
	visitBackends(route, func(ref gatewayv1.BackendRef, namespace string) {
		if backend.IsXBackend(ref) {
			keys = append(keys, "XBackend "+namespace+"/"+string(ref.Name))
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// listCookies lists the cookies that may reach routes with which their own shares no requests: on a server those of
// other Gateways at the same hosts, for browsers send a cookie to each of them, and everywhere what a Domain covers.
func (s *State) listCookies(decisions *policy.Decisions) map[object.Ref][]policy.Cookie {
	all := map[object.Ref][]policy.Cookie{}
	decisions.VisitCookies(func(route object.Ref, c policy.Cookie) {
		if c.Domain != "" || s.settings.Steps.Apart {
			all[route] = append(all[route], c)
		}
	})
	return all
}

// coupleByCookies couples routes whose cookies could collide, wherever they are. It gives those whose groups have to be
// made again because of that.
func (s *State) coupleByCookies(added []*group) map[object.Ref]bool {
	graph, pending := s.objects.graph, map[object.Ref]bool{}
	for _, g := range added {
		for _, ref := range g.routes {
			n := s.newNode(s.objects.routes[ref])
			addCookies(&n, g.part.cookies[ref])
			graph.Set(ref, n)
		}
	}
	known := map[object.Ref]bool{}
	for _, g := range added {
		for ref := range g.part.cookies {
			if known[ref] {
				continue
			}
			for _, other := range graph.Component(ref) {
				if known[other] = true; s.groups.byRoute[other] != g {
					pending[ref], pending[other] = true, true
				}
			}
		}
	}
	return pending
}

// addCookies adds to what a route is coupled by.
func addCookies(n *coupling.Node, cookies []policy.Cookie) {
	for _, c := range cookies {
		where := "cookie " + c.Name // which keeps those of each name apart; no Gateway's key has a space
		if c.Domain != "" {
			n.Keys = append(n.Keys, where+";"+c.Domain)
		} else {
			n.Hosts = append(n.Hosts, coupling.Host{Where: where, Name: c.Hostname})
		}
	}
}
