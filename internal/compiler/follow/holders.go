package follow

import (
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// holders are who has what several want: it stays theirs as long as they want it.
type holders struct {
	names policy.HeldNames
	hosts gateway.SoleHosts
}

func newHolders() holders { return holders{policy.HeldNames{}, gateway.SoleHosts{}} }

// resolveOrder says who was there first, and marks everything if that is not as it was for those who were asked about.
func (s *State) resolveOrder(m Environment) {
	before, now := s.listening, m.Listening
	now.Order = seniority.New(m.Files, s.visitClaimants)
	now.Holders, now.SoleHosts = before.Holders, s.holders.hosts
	if !before.Order.RanksAs(now.Order) {
		s.marks.base, s.layout.tally = true, nil
		for ref := range s.objects.routes {
			s.marks.routes[ref] = true
		}
	}
	if !maps.Equal(before.Unusable, now.Unusable) {
		s.marks.base, s.layout.tally = true, nil
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

// Holders are who had what in the last result.
func (s *State) Holders() (gateway.Claims, policy.HeldNames, gateway.SoleHosts) {
	return s.listening.Holders, s.holders.names, s.holders.hosts
}

// SetHolders notes who had what before there were any objects.
func (s *State) SetHolders(claims gateway.Claims, names policy.HeldNames, hosts gateway.SoleHosts) {
	s.listening.Holders = claims
	s.holders = holders{maps.Clone(names), maps.Clone(hosts)}
}

// keepHolders notes who has what in a result, for the next one. What was refused is none: who had something keeps it
// while the file that says so is broken.
func (s *State) keepHolders() {
	if s.settings.KeepHolders {
		for _, gone := range s.gone {
			for scope := range gone.held {
				delete(s.holders.names, scope)
			}
			for fqdn := range gone.soleHosts {
				delete(s.holders.hosts, fqdn)
			}
		}
		for g := range s.added {
			maps.Copy(s.holders.names, g.part.held)
			maps.Copy(s.holders.hosts, g.part.soleHosts)
		}
		maps.Copy(s.holders.hosts, s.base.streams.soleHosts)
		s.listening.Holders = s.base.shared.Claims
	}
	s.gone, s.added = nil, map[*group]bool{}
}
