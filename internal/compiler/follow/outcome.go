package follow

import (
	"maps"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Finish finishes a round of changes without an error. It lists the warnings that are new, and tells whether statuses
// may be others.
func (s *State) Finish() (warnings []report.Problem, otherStatuses bool, err error) {
	if err := s.merged.finish(); err != nil {
		return nil, false, err
	}
	s.keepHolders()
	warnings, others := s.reported.takeNew()
	otherStatuses = s.statuses.changes || others
	s.statuses.changes = false
	return warnings, otherStatuses, nil
}

// Draining are the hosts that terminate, and the time at which the same objects come to something else, if there is
// one.
func (s *State) Draining() (hosts []ir.HostKey, until time.Time) {
	hosts = slices.SortedFunc(maps.Keys(s.merged.draining), ir.HostKey.Compare)
	for u := range s.merged.untils {
		if until.IsZero() || u.Before(until) {
			until = u
		}
	}
	return hosts, until
}

// Pods are the pods at addresses, in order.
func (s *State) Pods() []ir.PodAt {
	pods := slices.AppendSeq(make([]ir.PodAt, 0, len(s.merged.pods.now)), maps.Keys(s.merged.pods.now))
	slices.SortFunc(pods, ir.PodAt.Compare)
	return pods
}

// TakeOtherPods gives the uids of the pods, in order, at each address at which they are others than the last time.
func (s *State) TakeOtherPods() map[ir.HostKey][]string {
	m, others := s.merged, map[ir.HostKey][]string{}
	for pod := range m.pods.take() {
		m.podsAt.Set(pod.HostKey, pod.UID, m.pods.now[pod] > 0)
		others[pod.HostKey] = nil
	}
	for at := range others {
		others[at] = slices.Sorted(maps.Keys(m.podsAt[at]))
	}
	return others
}

// MayEndSessions tells whether parts have gone in this round.
func (s *State) MayEndSessions() bool { return len(s.gone) > 0 }

// IsUnacknowledged tells whether some pods are no endpoints yet.
func (s *State) IsUnacknowledged() bool { return s.merged.unacknowledged > 0 }

// HasPrivateKeys reports whether the configuration holds private keys of certificates.
func (s *State) HasPrivateKeys() bool {
	showsSome := func(l ir.Listener) bool { return len(l.ClientCertificates) > 0 }
	return slices.ContainsFunc(s.base.listeners, ir.Listener.HasPrivateKeys) ||
		slices.ContainsFunc(s.base.listeners, showsSome) && s.merged.showsClient()
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

// Sizes tells how much is kept, by what it is: nothing that the objects at hand do not need.
func (s *State) Sizes() map[string]int {
	texts := 0
	for _, site := range s.merged.sites {
		texts += len(site.texts) + len(site.written)
	}
	return map[string]int{
		"followed objects": s.store.Count(), "groups of routes": len(s.groups.all), "texts of virtual hosts": texts,
		"texts of clusters": len(s.merged.clusters), "lifetimes of sessions": len(s.merged.unused),
		"attached policies": len(s.attached), "keys of objects": len(s.askers), "coupled routes": s.objects.graph.Len(),
		"warnings": len(s.reported.now),
	}
}
