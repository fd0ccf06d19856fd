package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/index"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
)

// ManyRoutes is the usual [Settings.ManyRoutes]: fewer are compiled from scratch sooner than what is kept of them is
// looked up.
const ManyRoutes = 64

// group is routes that are compiled together.
type group struct {
	routes []object.Ref
	caches stepCaches
	part   *groupPart
}

// groups are all groups. A route is in one of them.
type groups struct {
	all     map[*group]bool
	byRoute map[object.Ref]*group
	// temporary are the places of their clusters whose hosts are others with time, or when proxies have taken the last
	// ones over.
	temporary index.Sets[*group, int]
}

func newGroups() groups {
	return groups{all: map[*group]bool{}, byRoute: map[object.Ref]*group{}, temporary: index.Sets[*group, int]{}}
}

// updateGroups makes marked groups again.
func (s *State) updateGroups(m Environment) error {
	pending := s.listMarked(m.Moved)
	for len(pending)+len(s.ancestorLimits.changed) > 0 {
		added := s.regroup(pending)
		parts := parallel.Map(added, func(some []*group, parts []*groupPart) {
			for i, g := range some {
				parts[i] = s.compile(g, m)
			}
		})
		for i, g := range added {
			if parts[i].err != nil {
				return parts[i].err
			}
			g.part = parts[i]
			s.countGroup(g, 1)
		}
		pending = s.coupleByCookies(added)
		s.updateAncestorLimits(pending)
	}
	return nil
}

// listMarked gives the routes that are marked, and those with a host of which something else is remembered.
func (s *State) listMarked(moved []ir.HostKey) map[object.Ref]bool {
	marked := s.marks.routes
	if len(moved) > 0 {
		for g := range s.groups.all {
			if g.part.hasPodAt(moved) {
				marked[g.routes[0]] = true
			}
		}
	}
	s.marks.routes = map[object.Ref]bool{}
	return marked
}

// regroup dissolves the groups of some routes, and of all routes that are coupled with theirs now, and groups those
// again.
func (s *State) regroup(routes map[object.Ref]bool) (added []*group) {
	queue := slices.AppendSeq(make([]object.Ref, 0, len(routes)), maps.Keys(routes))
	caches := map[object.Ref]stepCaches{} // of groups with many routes
	grouped := map[object.Ref]bool{}
	for i := 0; i < len(queue); i++ {
		ref := queue[i]
		if old := s.groups.byRoute[ref]; old != nil {
			queue = append(queue, old.routes...)
			caches[old.routes[0]] = old.caches
			s.countGroup(old, -1)
		}
		if grouped[ref] || s.objects.routes[ref] == nil {
			continue
		}
		g := &group{routes: s.objects.graph.Component(ref)}
		for _, member := range g.routes {
			grouped[member] = true
		}
		queue = append(queue, g.routes...)
		added = append(added, g)
	}
	for _, g := range added {
		g.keepCaches(caches, s.settings.ManyRoutes)
	}
	return added
}

// keepCaches takes over what was kept for the group of one of the routes, if there are many.
func (g *group) keepCaches(caches map[object.Ref]stepCaches, many int) {
	if len(g.routes) < many {
		return
	}
	for _, ref := range g.routes {
		if c, kept := caches[ref]; kept && c.rendered != nil {
			g.caches = c
			delete(caches, ref)
			return
		}
	}
	g.caches = newStepCaches()
}

// countGroup puts a group's part into what all come to, or takes it out.
func (s *State) countGroup(g *group, by int) {
	present := by > 0
	if !present && !s.added[g] {
		s.gone = append(s.gone, g.part)
	}
	put(s.added, g, true, present)
	put(s.groups.all, g, true, present)
	for i := range g.part.clusters {
		s.groups.temporary.Set(g, i, present && g.part.clusters[i].Remembered.IsTemporary())
	}
	for _, ref := range g.routes {
		put(s.groups.byRoute, ref, g, present)
	}
	for _, k := range g.part.asked {
		s.askers.Set(k, g, present)
	}
	s.ancestorLimits.count(g.part.reach, by)
	s.merged.countPart(g.part, by)
	s.markPart(g.part, g.routes, slices.Values(g.part.asked), by)
	s.reported.count(g.part.report, by)
}
