package follow

import "github.com/limpet-proxy/limpet/internal/compiler/gateway"

// updateLayout says anew which routes there is room for, which depends on all of them, and marks those with which that is not as it was.
func (s *State) updateLayout() {
	if !s.marks.layout {
		return
	}
	s.marks.layout = false
	all := s.objects.copyShared()
	for _, route := range s.objects.routes {
		if route.Host == nil {
			all.Routes = append(all.Routes, route)
		} else {
			all.HostRoutes = append(all.HostRoutes, route)
		}
	}
	all.Namespaces = s.objects.context.Namespaces
	all.Sort()
	now := gateway.NewLayout(s.newInput(all).Settled(s.frame.refused, s.listening))
	for ref := range now.ListOther(s.layout) {
		s.markRoute(ref)
	}
	if !now.Equal(s.layout) {
		s.layout = now
	} else {
		s.layout.Usage = now.Usage
	}
}
