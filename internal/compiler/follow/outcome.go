package follow

import (
	"maps"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Settle finishes a round of changes without an error, and lists the warnings that are new.
func (s *State) Settle() (warnings []report.Problem, err error) {
	if err := s.merged.settle(); err != nil {
		return nil, err
	}
	s.keepIncumbents()
	s.merged.noteStale()
	return s.said.takeNew(), nil
}

// SaysSame tells whether what there is to say is what there was when this, or what is new, was last asked for.
func (s *State) SaysSame() bool { return s.said.isSame() }

// Draining are the hosts that terminate, and the time at which the same objects come to something else, if there is
// one.
func (s *State) Draining() (hosts []ir.HostKey, until time.Time) {
	for at := range s.merged.draining {
		hosts = append(hosts, at)
	}
	slices.SortFunc(hosts, ir.HostKey.Compare)
	for u := range s.merged.untils {
		if until.IsZero() || u.Before(until) {
			until = u
		}
	}
	return hosts, until
}

// Pods are the pods at addresses, in order.
func (s *State) Pods() []ir.PodAt {
	pods := make([]ir.PodAt, 0, len(s.merged.pods))
	for _, at := range slices.SortedFunc(maps.Keys(s.merged.pods), ir.HostKey.Compare) {
		for _, uid := range s.merged.listPods(at) {
			pods = append(pods, ir.PodAt{HostKey: at, UID: uid})
		}
	}
	return pods
}

// TakeOtherPods gives the uids of the pods at each address at which they may be others than the last time.
func (s *State) TakeOtherPods() map[ir.HostKey][]string {
	others := make(map[ir.HostKey][]string, len(s.merged.otherPods))
	for at := range s.merged.otherPods {
		others[at] = s.merged.listPods(at)
	}
	s.merged.otherPods = map[ir.HostKey]bool{}
	return others
}

// IsUnsettled tells whether some pods are no endpoints yet.
func (s *State) IsUnsettled() bool { return s.merged.unsettled > 0 }

// HasPrivateKeys reports whether the configuration holds private keys of certificates.
func (s *State) HasPrivateKeys() bool {
	showsSome := func(l ir.Listener) bool { return len(l.ClientCertificates) > 0 }
	return slices.ContainsFunc(s.merged.listeners, ir.Listener.HasPrivateKeys) ||
		slices.ContainsFunc(s.merged.listeners, showsSome) && s.merged.showsClient()
}

// showsClient reports whether hosts of some cluster are shown a certificate.
func (m *merged) showsClient() bool {
	for _, c := range m.clusters {
		if c.users > 0 && c.config.ShowsClient() {
			return true
		}
	}
	return false
}

// Size is how many results are kept of a step.
type Size struct {
	Step    string
	Entries int
}

// Sizes tells how much is kept: nothing that the objects at hand do not need.
func (s *State) Sizes() []Size {
	texts := 0
	for _, site := range s.merged.sites {
		texts += len(site.texts) + len(site.written)
	}
	return []Size{
		{"followed objects", s.store.Count()},
		{"groups of routes", len(s.groups.all)},
		{"texts of virtual hosts", texts},
		{"texts of clusters", len(s.merged.clusters)},
		{"session policies", len(s.merged.policies)},
		{"attached policies", len(s.attached)},
		{"keys of objects", len(s.askers.Sets)},
		{"coupled routes", s.objects.graph.Len()},
		{"warnings", len(s.said.count)},
	}
}
