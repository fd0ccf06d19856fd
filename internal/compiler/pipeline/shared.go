package pipeline

import (
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
)

// Shared is what all parts of an input have in common. One part makes it, and the others are given it.
type Shared struct {
	// Refused are the claims to addresses that do not hold, and Claims those that do.
	Refused map[gateway.Claim]string
	Claims  gateway.Claims
	// Places are the addresses that endpoints may not have.
	Places *backend.Places
	// LoadBalancing, Budgets and BackendTLS are policies that a part's objects look into; nil where a control plane of the
	// target's own has a say in all of that.
	LoadBalancing *loadbalancing.Policies
	Budgets       *retrybudget.Budgets
	BackendTLS    *backendtls.Policies
}

// Whole is what Shared is made from, where that is more than the objects of the part that makes it.
type Whole struct {
	Objects *resource.Objects
	// Targets are what a LoadBalancerPolicy can have as its target.
	Targets loadbalancing.Targets
	// HasService tells whether there is a Service of a namespace/name, and Services give them.
	HasService func(key string) bool
	Services   backendtls.Services
}

// share makes what all parts have in common, but for what follows from the topology.
func (in *Input) share(rep *report.Report) *Shared {
	if in.ControlPlane != "" {
		return &Shared{}
	}
	shared := &Shared{Refused: in.newGatewayInput().ResolveClaims(in.Listening)}
	if w := in.Whole; w != nil {
		shared.LoadBalancing = loadbalancing.NewPart(w.Objects, w.Targets, rep)
		shared.Budgets = retrybudget.NewPart(w.Objects, w.HasService, rep)
		shared.BackendTLS = backendtls.NewPart(w.Objects, w.Services, rep)
		return shared
	}
	shared.LoadBalancing = loadbalancing.New(in.Objects, rep)
	shared.Budgets = retrybudget.New(in.Objects, rep)
	shared.BackendTLS = backendtls.New(in.Objects, rep)
	return shared
}

// newPlaces are the addresses that endpoints may not have; nil where a control plane of the target's own finds
// endpoints.
func (in *Input) newPlaces(claims gateway.Claims) *backend.Places {
	if in.ControlPlane != "" {
		return nil
	}
	places := backend.NewPlaces(in.Objects, claims, in.Own...)
	places.NoLoopback, places.Names, places.Zone, places.Machine = in.Remote, in.ExternalNames, in.Zone, in.Machine
	places.Nodes = in.Nodes
	return places
}
