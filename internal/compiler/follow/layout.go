package follow

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// layout is what there is room for, which depends on all routes.
type layout struct {
	*gateway.Layout
	tally *gateway.Tally // nil where there are other listeners now
	// changed are the routes that came or went.
	changed map[object.Ref]bool
}

func newLayout() layout { return layout{&gateway.Layout{}, nil, map[object.Ref]bool{}} }

// touch notes objects on which listeners depend, or which routes they admit.
func (l *layout) touch(gone, came *resource.Objects) {
	for _, some := range []*resource.Objects{gone, came} {
		if len(some.Classes)+len(some.Gateways)+len(some.ListenerSets)+len(some.Namespaces)+
			len(some.Grants)+len(some.ConfigMaps)+len(some.Refused) > 0 {
			l.tally = nil
		}
	}
}

// updateLayout says again which routes there is room for, and marks those with which that is not as it was.
func (s *State) updateLayout() {
	l := &s.layout
	if l.tally == nil {
		l.tally = pipeline.NewTally(pipeline.Input{
			Settings: s.settings.Steps, Objects: s.objects.listenersOnly(), Shared: s.base.shared, Listening: s.listening,
		})
		for ref := range s.objects.routes {
			l.changed[ref] = true
		}
	}
	for ref := range l.changed {
		l.tally.Set(ref, s.objects.routes[ref])
	}
	l.changed = map[object.Ref]bool{}
	now := l.tally.Layout(s.listening.Order)
	for ref := range now.ListOther(l.Layout) {
		s.marks.routes[ref] = true
	}
	l.Layout = now
}

// listenersOnly gives what listeners depend on.
func (o *inventory) listenersOnly() *resource.Objects {
	all := *o.views[""]
	all.Namespaces, all.Controller = o.context.Namespaces, o.context.Controller
	return &all
}
