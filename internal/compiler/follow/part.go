package follow

import (
	"cmp"

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
	"github.com/limpet-proxy/limpet/internal/compiler/status"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// groupPart is what a group of routes comes to, or the routes of connections in the base.
type groupPart struct {
	asked    []key
	hosts    []hostText
	clusters []lower.Cluster
	// destinations are what routes lead to.
	destinations []lower.Destination
	policies     []policyconfig.Policy
	report       *report.Report
	cookies      map[object.Ref][]policy.Cookie // those by which routes are coupled
	reach        ancestors.Reach
	taken        map[object.Ref]int // of the base: ancestors in the status of policies that it reads, besides Gateways
	soleHosts    gateway.SoleHosts
	held         policy.HeldNames
	sessions     *policy.Sessions
	status       status.Part // for the statuses of objects
	err          error
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
	rendered envoy.HostTexts
}

func newStepCaches() stepCaches { return stepCaches{pipeline.NewCache(), envoy.NewHostTexts()} }

// analyze takes the steps before the emitter for a part of the input. Without what parts share it is the base's, which
// makes that.
func (s *State) analyze(in pipeline.Input, m Environment) (*groupPart, *pipeline.Part) {
	p, isBase := &groupPart{report: &report.Report{}}, in.Shared == nil
	in.Settings, in.Targets = s.settings.Steps, s.objects.targets
	in.Listening, in.HeldNames = s.listening, s.holders.names
	in.Layout = s.layout.Layout
	in.Nodes = s.nodes
	in.Selection, in.Draining, in.Owners = s.selected.now, m.draining(), m.Owners
	in.Policy.AncestorLimit = func(reaching ancestors.Input) *ancestors.Limit {
		if p.reach = ancestors.FindReach(reaching); isBase {
			p.taken = ancestors.CountTaken(reaching)
		}
		return ancestors.NewLimit(reaching, s.ancestorLimits.reached)
	}
	made := pipeline.Run(in, p.report)
	p.clusters, p.destinations, p.policies = made.Clusters, made.Destinations, made.Config.Policies
	p.cookies = s.listCookies(made.Decisions)
	p.soleHosts, p.sessions = made.Topology.SoleHosts(), made.Decisions.Sessions()
	p.status = status.Part{
		Attachments: made.Topology.Attachments, Paths: made.Decisions.Paths, Renames: made.Decisions.Renames,
		Traffic: made.Traffic,
	}
	if s.settings.KeepHolders {
		p.held = made.Decisions.HeldNames()
	}
	return p, made
}

// compile makes a group's part.
func (s *State) compile(g *group, m Environment) *groupPart {
	objects, asked := s.gather(g.routes)
	p, made := s.analyze(pipeline.Input{
		Objects: objects, Shared: s.base.shared, Cache: g.caches.steps,
	}, m)
	p.asked = asked
	p.hosts, p.err = s.renderHosts(made.Plan.Proxy.Listeners, g.caches.rendered)
	memo.Sweep(append(g.caches.steps.Steps(), g.caches.rendered))
	return p
}

// renderHosts writes the virtual hosts that are not there without the group's routes.
func (s *State) renderHosts(listeners []ir.Listener, kept envoy.HostTexts) (texts []hostText, err error) {
	for _, l := range listeners {
		for _, site := range s.merged.listSites(l) {
			own := envoy.Site{Name: site.key}
			for _, h := range site.Hosts {
				if !s.merged.isEmptyHost(site.key, &h) {
					own.Hosts = append(own.Hosts, h)
				}
			}
			hosts, failed := s.settings.Envoy.RenderHosts(kept, own)
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
