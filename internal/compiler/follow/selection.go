package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// selected is what becomes of pods that Services select or have left (S42).
type selected struct {
	pods map[*resource.Object[resource.Pod]]bool
	// keeping are the policies that keep pods: without any nothing is known of them.
	keeping map[*sessionPolicy]bool
	// stale says that objects have changed on which it depends.
	stale  bool
	now    *backend.Selection // what groups are made of
	report report.Report
}

func newSelected() selected {
	return selected{pods: map[*resource.Object[resource.Pod]]bool{}, keeping: map[*sessionPolicy]bool{}}
}

// take notes the pods and policies that came or went.
func (s *selected) take(some *resource.Objects, present bool) {
	for _, p := range some.Pods {
		put(s.pods, p, true, present)
	}
	for _, p := range some.SessionPolicies {
		if backend.KeepsPods(&p.Value.Spec) {
			put(s.keeping, p, true, present)
			s.stale = true
		}
	}
	s.stale = s.stale || len(some.Pods) > 0
}

// updateSelection follows what Services select, and marks the routes that lead to those that have left other pods than
// before.
func (s *State) updateSelection(m Environment) {
	before := s.selected.now
	if !s.selected.stale && before != nil && before == m.Selection {
		return
	}
	s.selected.stale = false
	input := &resource.Objects{SessionPolicies: slices.Collect(maps.Keys(s.selected.keeping))}
	if len(input.SessionPolicies) > 0 {
		input.Pods = slices.Collect(maps.Keys(s.selected.pods))
		for _, some := range s.objects.slices {
			input.Slices = slices.AppendSeq(input.Slices, maps.Keys(some))
		}
	}
	s.selected.now = m.Selection.Follow(input, m.Now)
	for _, service := range before.ListChanged(s.selected.now) {
		visitEndpoints(service, s.change)
	}
	s.reported.count(&s.selected.report, -1)
	s.selected.report = report.Report{}
	backend.ReportUnseenPods(input, &s.selected.report)
	s.reported.count(&s.selected.report, 1)
}
