package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// incumbents are who has what several want: it stays theirs as long as they want it.
type incumbents struct {
	names policy.HeldNames
	hosts gateway.SoleHosts
}

func newIncumbents() incumbents { return incumbents{policy.HeldNames{}, gateway.SoleHosts{}} }

// settleOrder says who was there first, and marks everything if that is not as it was for those who were asked about.
func (s *State) settleOrder(m Moment) {
	before, now := s.listening, m.Listening
	now.Order = seniority.New(m.Files, s.visitClaimants)
	now.Incumbents, now.SoleHosts = before.Incumbents, s.incumbents.hosts
	if !before.Order.RanksAs(now.Order) {
		s.marks.frame, s.marks.all, s.layout.tally = true, true, nil
	}
	if !maps.Equal(before.Unusable, now.Unusable) {
		s.marks.frame, s.layout.tally = true, nil
	}
	s.listening = now
}

// visitClaimants visits the objects that can want what others have.
func (s *State) visitClaimants(visit func(seniority.Subject)) {
	claimants := resource.Objects{
		Gateways: s.objects.context.Gateways, ListenerSets: s.objects.context.ListenerSets,
		Routes: slices.AppendSeq(slices.Collect(maps.Values(s.objects.routes)), maps.Values(s.objects.streams)),
	}
	claimants.VisitClaimants(visit)
}

// Incumbents are who had what in the last result.
func (s *State) Incumbents() (gateway.Claims, policy.HeldNames, gateway.SoleHosts) {
	return s.listening.Incumbents, s.incumbents.names, s.incumbents.hosts
}

// SetIncumbents notes who had what before there were any objects.
func (s *State) SetIncumbents(claims gateway.Claims, names policy.HeldNames, hosts gateway.SoleHosts) {
	s.listening.Incumbents = claims
	s.incumbents = incumbents{maps.Clone(names), maps.Clone(hosts)}
}

// keepIncumbents notes who has what in a result, for the next one. What was refused is none: who had something keeps it
// while the file that says so is broken.
func (s *State) keepIncumbents() {
	if s.settings.KeepIncumbents {
		for _, gone := range s.gone {
			for scope := range gone.held {
				delete(s.incumbents.names, scope)
			}
			for fqdn := range gone.soleHosts {
				delete(s.incumbents.hosts, fqdn)
			}
		}
		for g := range s.fresh {
			maps.Copy(s.incumbents.names, g.part.held)
			maps.Copy(s.incumbents.hosts, g.part.soleHosts)
		}
		maps.Copy(s.incumbents.hosts, s.frame.streams.soleHosts)
		s.listening.Incumbents = s.frame.shared.Claims
	}
	s.gone, s.fresh = nil, map[*group]bool{}
}
