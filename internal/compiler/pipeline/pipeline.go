// Package pipeline takes the compiler's steps from typed objects to the neutral configuration, in their order, for all
// of an input or for a part of it.
//
//	gateway        listeners and routes to an ordered list of matches for each hostname
//	backend        backendRefs to Services' endpoints
//	backendtls     how backends are spoken to over TLS
//	loadbalancing  and retrybudget, what requests without a session get
//	policy         a rule's session persistence to session policies, by precedence
//	lower          all of it to ir, the neutral configuration
//
// The order stands here once. A compilation from scratch is one [Run] with every object; package follow takes one for
// the base, which makes what all parts share, and one for each group of routes. Steps see what their [Input] has, and
// nothing else.
package pipeline

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Settings are what does not change from one compilation of an input to the next.
type Settings struct {
	// ControlPlane is the controllerName of a target's own control plane, which makes listeners, routes and clusters
	// itself; empty where limpet makes them. PlatformBackends are the kinds of it that routes may lead to.
	ControlPlane     gatewayv1.GatewayController
	PlatformBackends []schema.GroupKind
	// Bind is where Gateways listen that say nothing of it.
	Bind netip.Addr
	// Budget is how much is laid out.
	Budget gateway.Budget
	// Apart says that each Gateway has proxies of its own; else one has all of them.
	Apart bool
	// AssumeClass takes a GatewayClass that is not in the input for limpet's.
	AssumeClass bool
	// ExternalNames are the DNS names that endpoints may have.
	ExternalNames []string
	// Zone is the zone that Envoy runs in; empty for one that is not known.
	Zone string
	// Own are the addresses at which limpet's own listen, and Remote says that no loopback address is an endpoint.
	Own    []netip.AddrPort
	Remote bool
	// Machine are the addresses of the machine that Envoy runs on, where they are known.
	Machine []netip.Addr
	// Policy is what decisions about sessions depend on.
	Policy policy.Options
	// LocalClients leaves out advice about clients on other machines.
	LocalClients bool
	// WithoutPods is for a target that knows nothing of pods, NamePods for proxies that are to know their names, and
	// Native for the native filter.
	WithoutPods, NamePods, Native bool
}

// Input is everything that the steps look at.
type Input struct {
	Settings
	// Objects are those of the part.
	Objects *resource.Objects
	// Shared is what parts have in common; nil for the part that makes it, from Whole if that is not nil. That one alone
	// has connections and datagrams.
	Shared *Shared
	Whole  *Whole
	// Layout is what there is room for in all, for a part; nil to find out.
	Layout *gateway.Layout
	// Targets are what policies can be attached to; nil to find them among the objects.
	Targets *policy.Targets
	// Listening says where Gateways may listen, and who goes first, and HeldNames are the sessions' names in the last
	// result.
	Listening gateway.Listening
	HeldNames policy.HeldNames
	// Selection is which pods Services select and have left; nil where nothing watches pods.
	Selection *backend.Selection
	// Nodes are the machines of a cluster; nil where they are not known.
	Nodes *backend.Nodes
	// Draining and Owners are what is known of hosts that terminate, and of addresses; nil for nothing.
	Draining *lower.Draining
	Owners   lower.Owners
	// Cache keeps the results of steps.
	Cache Cache
}

// Part is what the objects of an input come to.
type Part struct {
	// Topology is where requests arrive, and Decisions are about the session persistence of what they reach.
	Topology  *gateway.Topology
	Decisions *policy.Decisions
	Backends  *backend.Index
	Shared    *Shared
	// Plan is what emitters write from, and Lowered the rules' part of it, which is empty where a control plane makes
	// routes and clusters itself.
	Plan *ir.Plan
	lower.Lowered
}

// Run takes the steps. Findings go to the report; those about Gateways and the attachment of policies come only from
// the part that makes Shared.
func Run(in Input, rep *report.Report) *Part {
	p, others := &Part{Shared: in.Shared}, rep
	if p.Shared == nil {
		p.Shared = in.share(rep)
	} else {
		others = &report.Report{}
	}
	p.Topology = in.Cache.topology.Get(in.newTopologyInput(p.Shared), gateway.Build)
	others.Add(&p.Topology.OfGateways)
	rep.Add(&p.Topology.OfRoutes)
	if p.Shared.Places == nil {
		p.Shared.Places, p.Shared.Claims = in.newPlaces(p.Topology.Claims()), p.Topology.Claims()
	}
	p.Backends = in.indexBackends(p.Shared, rep)
	p.Decisions = in.decide(p, others, rep)
	in.lower(p, rep)
	return p
}

// newTopologyInput is the input of a topology.
func (in *Input) newTopologyInput(shared *Shared) gateway.Input {
	if in.ControlPlane != "" {
		return gateway.NewInputPerGateway(in.Objects, in.ControlPlane)
	}
	return in.newGatewayInput().Resolved(shared.Refused, in.Listening).LaidOut(in.Layout)
}

// NewTally counts for the listeners of a part, and no routes yet.
func NewTally(in Input) *gateway.Tally {
	return gateway.NewTally(in.newGatewayInput().Resolved(in.Shared.Refused, in.Listening))
}

// newGatewayInput is the input of limpet's own Gateways, before claims to shared addresses are settled.
func (in *Input) newGatewayInput() gateway.Input {
	gateways := gateway.NewInput(in.Objects, in.Bind).AssumeClasses(in.AssumeClass).Within(in.Budget)
	if in.Apart {
		gateways = gateways.Apart()
	}
	return gateways
}

// indexBackends finds what backendRefs lead to.
func (in *Input) indexBackends(shared *Shared, rep *report.Report) *backend.Index {
	if in.ControlPlane != "" {
		return backend.NewUnverified(in.Objects, in.PlatformBackends...)
	}
	ports := in.Cache.backends.GetAll(backend.GatherPorts(in.Objects, in.Selection, shared.Places), backend.BuildPort)
	backends := backend.NewIndex(in.Objects, ports, in.Selection, shared.Places, rep)
	backends.Secure(shared.BackendTLS.Has)
	return backends
}

// decide decides on the session persistence of every path that requests take.
func (in *Input) decide(p *Part, attaching, rep *report.Report) *policy.Decisions {
	o := in.Policy
	o.Order, o.HeldNames = in.Listening.Order, in.HeldNames
	if in.Targets == nil {
		return in.Cache.rules.Decide(in.Objects, p.Topology.Ports, p.Backends, o, rep)
	}
	return in.Cache.rules.DecidePart(in.Objects, in.Targets, p.Topology.Ports, p.Backends, o, attaching, rep)
}

// lower makes the plan.
func (in *Input) lower(p *Part, rep *report.Report) {
	ports := p.Topology.Ports
	if in.ControlPlane != "" {
		p.Plan = lower.NewPlan(in.Objects, ports, p.Decisions, p.Backends, rep)
		p.Plan.Compare = in.Listening.Order.Compare
		lower.AdviseUnissued(ports, p.Decisions, rep)
		return
	}
	p.Lowered = *lower.Lower(ports, lower.Input{
		Backends: p.Backends, BackendTLS: p.Shared.BackendTLS, LoadBalancing: p.Shared.LoadBalancing,
		RetryBudgets: p.Shared.Budgets,
		Decisions:    p.Decisions, Draining: in.Draining, Owners: in.Owners, LocalClients: in.LocalClients,
		WithoutStreams: in.Shared != nil, WithoutPods: in.WithoutPods, NamePods: in.NamePods, Native: in.Native,
	}, rep)
	p.Plan = &ir.Plan{Proxy: p.Config}
}
