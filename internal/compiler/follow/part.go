package follow

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/pipeline"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// groupPart is what a group of routes comes to, or the routes of connections in the frame.
type groupPart struct {
	hosts     []hostText
	clusters  []ir.Cluster
	policies  []policyconfig.Policy
	report    *report.Report
	cookies   map[object.Ref][]policy.Cookie // those by which routes are coupled
	draining  []ir.HostKey
	pods      []ir.PodAt
	unsettled bool
	until     time.Time
	reach     ancestors.Reach
	taken     map[object.Ref]int // of the frame: ancestors in the status of policies that it reads, besides Gateways
	gateways  []*gateway.Status
	soleHosts gateway.SoleHosts
	held      policy.HeldNames
	err       error
}

// hostKey names a virtual host: the site that it is of, and its domain.
type hostKey struct{ site, domain string }

type hostText struct {
	hostKey
	text *envoy.HostText
}

// stepCaches keep the results of steps for a group with many routes. The zero value keeps nothing.
type stepCaches struct {
	steps    pipeline.Cache
	rendered envoy.Renderer
	kept     bool
}

func newStepCaches() stepCaches { return stepCaches{pipeline.NewCache(), envoy.NewRenderer(), true} }

// all are those that results are kept of.
func (c stepCaches) all() []memo.Step { return slices.Concat(c.steps.Steps(), c.rendered.Steps()) }

// analyze takes the steps before the emitter for a part of the input. Without what parts share it is the frame's, which makes that.
func (s *State) analyze(in pipeline.Input, m Moment, rep *report.Report) (*groupPart, *pipeline.Part) {
	p, framed := &groupPart{report: rep}, in.Shared == nil
	in.Settings, in.Targets, in.Listening, in.HeldNames = s.settings.Steps, s.objects.targets, s.listening, s.incumbents.names
	in.Layout = s.layout.Layout
	in.Selection, in.Draining, in.Owners = s.selected.now, &lower.Draining{Now: m.Now, Since: m.Since}, m.knownOwners()
	in.Policy.AncestorLimit = func(reaching ancestors.Input) *ancestors.Limit {
		if p.reach = ancestors.FindReach(reaching); framed {
			p.taken = ancestors.CountTaken(reaching)
		}
		return ancestors.NewLimit(reaching, s.room.reached)
	}
	made := pipeline.Run(in, rep)
	config := made.Plan.Proxy
	p.clusters, p.policies, p.draining, p.until = config.Clusters, config.Policies, config.Draining, config.Until
	p.pods, p.unsettled = config.Pods, config.Unsettled
	p.cookies = s.listCookies(made.Decisions)
	p.gateways, p.soleHosts = made.Topology.Attachments.Gateways, made.Topology.SoleHosts()
	if s.settings.KeepIncumbents {
		p.held = made.Decisions.HeldNames()
	}
	return p, made
}

// knownOwners is what is remembered of addresses, be it nothing.
func (m Moment) knownOwners() lower.Owners {
	if m.Owners == nil {
		return lower.Owners{}
	}
	return m.Owners
}

// compile makes a group's part.
func (s *State) compile(g *group, m Moment) *groupPart {
	p, made := s.analyze(pipeline.Input{
		Objects: s.gather(g.routes), Shared: s.frame.shared, Cache: g.caches.steps, WithoutStreams: true,
	}, m, &report.Report{})
	p.hosts, p.err = s.renderHosts(made.Plan.Proxy.Listeners, g.caches.rendered)
	memo.Sweep(g.caches.all(), true)
	return p
}

// renderHosts writes the virtual hosts that are not there without the group's routes.
func (s *State) renderHosts(listeners []ir.Listener, r envoy.Renderer) (texts []hostText, err error) {
	for _, l := range listeners {
		for _, site := range s.merged.listSites(l) {
			own := envoy.Site{Name: site.key}
			for _, h := range site.Hosts {
				if !s.merged.isShellHost(site.key, &h) {
					own.Hosts = append(own.Hosts, h)
				}
			}
			hosts, failed := r.RenderHosts(s.settings.Envoy, own)
			if err = cmp.Or(err, failed); err != nil {
				return nil, err
			}
			for i := range hosts {
				texts = append(texts, hostText{hostKey{site.key, own.Hosts[i].Domain}, &hosts[i]})
			}
		}
	}
	return texts, nil
}

// hasPodAt tells whether it leads to a pod at one of some addresses.
func (p *groupPart) hasPodAt(some []ir.HostKey) bool {
	return slices.ContainsFunc(p.pods, func(pod ir.PodAt) bool { return slices.Contains(some, pod.HostKey) })
}

// gather gives some routes together with all objects that they may depend on.
func (s *State) gather(routes []object.Ref) *resource.Objects {
	g := newGatherer(s.objects, s.objects.copyShared())
	for _, ref := range routes {
		g.addRoute(ref)
	}
	for _, set := range g.all.ListenerSets {
		g.addNamespace(set.Namespace)
	}
	for _, o := range g.all.Gateways {
		g.addPolicies(object.Ref{Kind: object.KindGatewayClass, Name: string(o.Value.Spec.GatewayClassName)})
		g.addPolicies(o.Origin().Ref)
	}
	g.all.Sort()
	return g.all
}

// gatherer collects objects, each once.
type gatherer struct {
	from     *inventory
	all      *resource.Objects
	services map[string]bool
	policies map[*sessionPolicy]bool
	// balancers are the namespaces whose LoadBalancerPolicies it has.
	balancers map[string]bool
}

// newGatherer makes one that adds to some objects.
func newGatherer(from *inventory, all *resource.Objects) *gatherer {
	return &gatherer{
		from: from, all: all, services: map[string]bool{}, policies: map[*sessionPolicy]bool{}, balancers: map[string]bool{},
	}
}

func (g *gatherer) addRoute(ref object.Ref) {
	g.addPolicies(ref)
	route := g.from.routes[ref]
	if route.Host == nil {
		g.all.Routes = append(g.all.Routes, route)
	} else {
		g.all.HostRoutes = append(g.all.HostRoutes, route)
	}
	g.addNamespace(route.Namespace)
	g.addBalancers(route.Namespace)
	g.addReads(route)
}

// addReads adds what a route leads to.
func (g *gatherer) addReads(route *gateway.Route) {
	for _, key := range listReads(route) {
		if key.xbackends == "" {
			g.addService(key.service)
			continue
		}
		for key := range g.from.inNamespace[key.xbackends] {
			g.addService(key)
		}
	}
}

func (g *gatherer) addNamespace(name string) {
	if n := g.from.namespaces[name]; n != nil && !slices.Contains(g.all.Namespaces, n) {
		g.all.Namespaces = append(g.all.Namespaces, n)
	}
}

// addBalancers adds the LoadBalancerPolicies of a namespace: the frame reads them for all, but they have ancestors.
func (g *gatherer) addBalancers(namespace string) {
	if !g.balancers[namespace] {
		g.balancers[namespace] = true
		g.all.LoadBalancers = append(g.all.LoadBalancers, g.from.balancersIn[namespace]...)
	}
}

// addService adds a Service and what belongs to it, be it there or not.
func (g *gatherer) addService(key string) {
	if g.services[key] {
		return
	}
	g.services[key] = true
	namespace, name, _ := strings.Cut(key, "/")
	g.addBalancers(namespace)
	ref := object.Ref{Kind: object.KindService, Namespace: namespace, Name: name}
	if found := g.from.services[key]; found != nil {
		g.all.Services = append(g.all.Services, found)
		g.addPolicies(ref)
	} else if g.from.refused[ref] {
		g.all.Refused = append(g.all.Refused, ref)
	}
	for slice := range g.from.slices[key] {
		g.all.Slices = append(g.all.Slices, slice)
	}
}

// addPolicies adds the policies that are attached to an object.
func (g *gatherer) addPolicies(at object.Ref) {
	for p := range g.from.policiesAt[at] {
		if !g.policies[p] {
			g.policies[p] = true
			g.all.SessionPolicies = append(g.all.SessionPolicies, p)
		}
	}
}
