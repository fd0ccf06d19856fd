package compiler

import (
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// Incumbents are who had what in a result. What of it they still claim stays theirs in the next compilation, whatever dates,
// names and places in the input say.
type Incumbents struct {
	claims gateway.Claims
	names  policy.HeldNames
	hosts  gateway.SoleHosts
}

// findIncumbents notes who has what.
func (j *analysis) findIncumbents() *Incumbents {
	return &Incumbents{claims: j.Topology.Claims(), names: j.Decisions.HeldNames(), hosts: j.Topology.SoleHosts()}
}

// newOrder is who was there first, among objects that claim what others may have.
func newOrder(sources []Source, objects *resource.Objects) *seniority.Order {
	listFiles := func() []string {
		files := make([]string, len(sources))
		for i, s := range sources {
			files[i] = s.Name
		}
		return files
	}
	return seniority.New(listFiles, objects.VisitClaimants)
}

// listening says where Gateways may listen.
func (o *Options) listening(s parsedOptions, order *seniority.Order) gateway.Listening {
	l := gateway.Listening{Shared: o.ShareAddresses, Admin: s.admin, Order: order}
	if o.Envoy != nil {
		l.Unusable = o.Envoy.Unusable
	}
	if o.Incumbents != nil {
		l.Incumbents, l.SoleHosts = o.Incumbents.claims, o.Incumbents.hosts
	}
	return l
}

// heldNames are the sessions' names in the last result.
func (o *Options) heldNames() policy.HeldNames {
	if o.Incumbents == nil {
		return nil
	}
	return o.Incumbents.names
}
