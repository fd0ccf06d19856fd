package follow

import (
	"iter"
	"maps"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// The status of an object says what became of it in the parts that asked for it. So a part that goes or comes marks the
// routes that it has and what it asked for, and the parts of an object are those that ask for it now.

// statuses knows of which objects the status may be another one than when it was last asked for.
type statuses struct {
	marked map[object.Ref]bool
	// all says that it may be any, and listeners that it may be those of all policies for Gateways and classes.
	all, listeners bool
	// changes says that there are other objects than with the last result on which statuses depend.
	changes  bool
	attached counted[gateway.ListenerKey] // the routes on each listener
	// refused has the listeners of routes that are refused as a whole, and so are not counted by people.
	refused map[object.Ref][]gateway.ListenerKey
}

func newStatuses() *statuses {
	return &statuses{
		marked: map[object.Ref]bool{}, all: true, attached: newCounted[gateway.ListenerKey](),
		refused: map[object.Ref][]gateway.ListenerKey{},
	}
}

// manyMarked is from how many on all are marked: nobody may ever ask, as where another process writes statuses.
const manyMarked = 1 << 16

func (s *statuses) mark(ref object.Ref) {
	if s.all {
		return
	}
	if s.marked[ref] = true; len(s.marked) > manyMarked {
		s.markAll()
	}
}

func (s *statuses) markAll() {
	s.all, s.listeners = true, false
	s.marked = map[object.Ref]bool{}
	s.attached.forget()
}

// mayHaveStatus is of kinds whose objects have a status, or one when policies affect them.
func mayHaveStatus(t resource.Traits) bool { return t.HasStatus || t.Attachable }

// markObjects marks objects that went or came.
func (s *State) markObjects(some *resource.Objects) {
	some.Visit(mayHaveStatus, func(e resource.Entry) { s.statuses.mark(e.Ref) })
}

// markPart marks the objects in whose statuses a part has a say, as it comes or goes, and counts its routes on
// listeners in or out. They are its routes, and what it asked for.
func (s *State) markPart(p *groupPart, routes []object.Ref, asked iter.Seq[key], by int) {
	for _, ref := range routes {
		s.markTarget(ref)
	}
	for k := range asked {
		s.markAsked(k)
	}
	p.status.Attachments.VisitAttached(func(l gateway.ListenerKey, routes []object.Ref) {
		s.statuses.attached.add(l, by*len(routes))
	})
}

// markAsked marks the objects that are answers to a key, with the policies for them.
func (s *State) markAsked(k key) {
	switch k.about {
	case endpoints, backends:
		s.markTarget(k.of)
	case policies, listeners:
		s.statuses.listeners = s.statuses.listeners || k == listenersKey("")
		for p := range s.objects.policiesAt[k.of] {
			s.statuses.mark(p.Ref())
		}
	}
}

// markTarget marks an object and the policies for it that all routes may depend on.
func (s *State) markTarget(ref object.Ref) {
	s.statuses.mark(ref)
	for policy := range s.objects.targetedBy[ref] {
		s.statuses.mark(policy)
	}
}

// markBase marks the objects in whose statuses the base has a say.
func (s *State) markBase(f *base, by int) {
	all := *f.context
	all.Secrets, all.ConfigMaps, all.Namespaces, all.Grants, all.HostRoutes = nil, nil, nil, nil, nil
	s.markObjects(&all)
	s.markPart(f.streams, f.routes, maps.Keys(f.asked), by)
}

// MarkStatuses marks objects whose statuses may have to be others for what is not in documents, or all.
func (s *State) MarkStatuses(some []object.Ref, all bool) {
	for _, ref := range some {
		s.statuses.mark(ref)
	}
	if all {
		s.statuses.markAll()
	}
}

// noteChanges notes whether there are other objects than EndpointSlices and Pods among those that went or came. What
// those come to for statuses is what there is to say of them.
func (s *State) noteChanges(some *resource.Objects) {
	others := *some
	others.Slices, others.Pods = nil, nil
	s.statuses.changes = s.statuses.changes || !others.IsEmpty()
}

// takeMarked gives the objects that are marked, and tells whether that is all; then it marks none.
func (s *State) takeMarked() (marked map[object.Ref]bool, all bool) {
	k := s.statuses
	marked, all = k.marked, k.all
	if all {
		s.store.VisitObjects(mayHaveStatus, func(e resource.Entry) { marked[e.Ref] = true })
	}
	for l, was := range k.attached.was {
		if k.attached.now[l] != was {
			marked[l.Gateway] = true
		}
	}
	if k.listeners {
		for ref, some := range s.objects.policiesAt {
			for p := range some {
				if isListening(ref) {
					marked[p.Ref()] = true
				}
			}
		}
	}
	k.marked, k.all, k.listeners = map[object.Ref]bool{}, false, false
	k.attached.forget()
	delete(marked, object.Ref{}) // of a file
	for ref := range maps.Clone(marked) {
		if set := s.objects.sets[ref]; set != nil { // it is written with its Gateway
			marked[ofGateway(set)] = true
		}
	}
	return marked, all
}

// addSets adds to some objects the ListenerSets of Gateways that are among them: they are written together.
func (s *State) addSets(some map[object.Ref]bool) {
	for ref, set := range s.objects.sets {
		if some[ofGateway(set)] {
			some[ref] = true
		}
	}
}

// ofGateway is the Gateway of a ListenerSet.
func ofGateway(set *resource.ListenerSet) object.Ref {
	return object.ParseKey(object.KindGateway, resource.GatewayOf(set))
}
