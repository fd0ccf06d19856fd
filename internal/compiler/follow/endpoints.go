package follow

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Endpoints change more often than all else. On most of these changes nothing depends but the hosts of clusters, and so
// they have a way of their own: the clusters of a part that lead to the Service get the hosts that it has now. Only if
// there is more to it, as [lower.Destination.Stays] tells, is the part made again.

// changeEndpoints marks what depends on the slices of a Service.
func (s *State) changeEndpoints(service string) {
	k := endpointsKey(service)
	s.marks.endpoints[service] = true
	s.marks.base = s.marks.base || s.base != nil && s.base.asked[k]
	s.change(selectableKey(k.of.Namespace))
}

// updateEndpoints gives clusters the hosts that they have now, each once, and marks the groups in which more depends on
// these.
func (s *State) updateEndpoints(m Environment) {
	places, backends := s.findOther(m)
	for g, some := range s.groups.temporary {
		for at := range some {
			places.Add(g, at)
		}
	}
	for g, some := range places {
		s.rechoose(g, some, backends, m)
	}
	s.marks.endpoints = map[string]bool{}
}

// findOther gives the places of the clusters with hosts of Services whose slices have changed, and the ports of these,
// by their names, with the hosts that they have now. It marks the groups in which more depends on them.
func (s *State) findOther(m Environment) (places index.Sets[*group, int], backends map[string]*backend.Backend) {
	places, backends = index.Sets[*group, int]{}, map[string]*backend.Backend{}
	for service := range s.marks.endpoints {
		groups := s.askers[endpointsKey(service)]
		if len(groups) == 0 {
			continue
		}
		now, known := s.findBackends(service)
		maps.Copy(backends, now)
		for g := range groups {
			own := g.part.listDestinations(service)
			if !known || !stay(own, now, m) {
				s.marks.routes[g.routes[0]] = true
				continue
			}
			for i := range own {
				for _, at := range own[i].Clusters {
					places.Add(g, at)
				}
			}
		}
	}
	return places, backends
}

// findBackends gives the ports of a Service, by their names, with the hosts that they have now; false where these
// depend on more than its slices.
func (s *State) findBackends(key string) (backends map[string]*backend.Backend, known bool) {
	o := s.objects
	if s.mayBeAnywhere(key) {
		return nil, false
	}
	backends = map[string]*backend.Backend{}
	if o.services[key] == nil {
		return backends, true
	}
	behind := &resource.Objects{Services: []*service{o.services[key]}, Slices: slices.Collect(maps.Keys(o.slices[key]))}
	slices.SortFunc(behind.Slices, resource.ByAge)
	for _, in := range backend.GatherPorts(behind, s.selected.now, s.base.shared.Places) {
		b := &backend.BuildPort(in).Backend
		backends[b.Name] = b
	}
	return backends, true
}

// stay tells whether clusters alone depend on what is another about the hosts of a Service's ports.
func stay(own []lower.Destination, now map[string]*backend.Backend, m Environment) bool {
	return !slices.ContainsFunc(own, func(d lower.Destination) bool {
		b := now[d.Name]
		return b == nil || !d.ChangesClustersOnly(b, m.Owners)
	})
}

// rechoose gives some of a group's clusters the hosts that they have now.
func (s *State) rechoose(g *group, places map[int]bool, backends map[string]*backend.Backend, m Environment) {
	for at := range places {
		c := &g.part.clusters[at]
		now := c.Rechoose(backends, m.draining(), m.Owners)
		s.merged.replaceCluster(c, &now)
		*c = now
		s.groups.temporary.Set(g, at, now.Remembered.IsTemporary())
	}
}

// listDestinations lists those that are ports of a Service.
func (p *groupPart) listDestinations(service string) []lower.Destination {
	compare := func(d lower.Destination, service string) int { return cmp.Compare(d.Service, service) }
	from, _ := slices.BinarySearchFunc(p.destinations, service, compare)
	to := from
	for to < len(p.destinations) && p.destinations[to].Service == service {
		to++
	}
	return p.destinations[from:to]
}

// isUnacknowledged tells whether some pods are no endpoints yet.
func (p *groupPart) isUnacknowledged() bool {
	return slices.ContainsFunc(p.clusters, func(c lower.Cluster) bool { return c.Remembered.Unacknowledged })
}

// hasPodAt tells whether it leads to a pod at one of some addresses.
func (p *groupPart) hasPodAt(some []ir.HostKey) bool {
	return len(some) > 0 && slices.ContainsFunc(p.clusters, func(c lower.Cluster) bool {
		return slices.ContainsFunc(c.Remembered.Pods, func(pod ir.PodAt) bool { return slices.Contains(some, pod.HostKey) })
	})
}
