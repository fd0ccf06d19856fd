package follow

import (
	"cmp"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// TakeDecided gives what the statuses of the marked objects are written from, but for what is known of proxies, and
// marks none; all says that these are all objects. It stays as it is when the state goes on. What there is to say of
// them goes to the report.
func (s *State) TakeDecided(rep *report.Report) (in status.Input, all bool) {
	some, all := s.takeMarked()
	groups := s.listGroupsOf(some)
	parts := make([]status.Part, len(groups))
	for i, g := range groups {
		parts[i] = g.part.status
	}
	s.updateRefused(some, parts)
	s.addSets(some)
	in = status.Input{
		Objects: s.objectsOf(some, groups), Some: &status.Some{Refs: some, Attached: s.attachedOn(some)},
		Decisions: &policy.Decisions{
			AncestorLimit: ancestors.NewLimit(ancestors.Input{Attachments: noAttachments}, maps.Clone(s.ancestorLimits.reached)),
			Attachments:   slices.Clone(s.base.attachments),
		},
	}
	for _, p := range in.Objects.SessionPolicies {
		in.Decisions.Attachments = append(in.Decisions.Attachments, s.attached[p].targets...)
	}
	in.SetParts(s.base.streams.status, parts)
	s.reportAbout(some, rep)
	return in, all
}

// noAttachments are none: where policies are attached is in the decisions.
func noAttachments(func(ancestors.Attachment) bool) {}

// listGroupsOf lists the groups that have a say in the statuses of objects, each once.
func (s *State) listGroupsOf(some map[object.Ref]bool) []*group {
	groups := map[*group]bool{}
	addKey := func(k key) { maps.Copy(groups, s.askers[k]) }
	addTarget := func(ref object.Ref) {
		if g := s.groups.byRoute[ref]; g != nil {
			groups[g] = true
		}
		addKey(key{endpoints, ref})
		addKey(key{backends, ref})
	}
	for ref := range some {
		addTarget(ref)
		for target := range s.objects.targetsOf[ref] {
			addTarget(target)
		}
		if p := s.objects.policies[ref]; p != nil {
			s.visitKeys(&resource.Objects{SessionPolicies: []*sessionPolicy{p}}, addKey)
		}
	}
	return slices.Collect(maps.Keys(groups))
}

// objectsOf gives some objects, those that all routes may depend on, the routes of groups and of connections, and the
// policies for Gateways that are among them.
func (s *State) objectsOf(some map[object.Ref]bool, groups []*group) *resource.Objects {
	o, own := s.objects, &resource.Objects{}
	addRoute := func(r *gateway.Route) {
		if r.Host == nil {
			own.Routes = append(own.Routes, r)
		}
	}
	for _, g := range groups {
		for _, ref := range g.routes {
			addRoute(o.routes[ref])
		}
	}
	for _, r := range o.streams {
		addRoute(r)
	}
	policies := map[*sessionPolicy]bool{}
	for ref := range some {
		if found := o.services[ref.Key()]; found != nil && ref.Kind == object.KindService {
			own.Services = append(own.Services, found)
		}
		if p := o.policies[ref]; p != nil {
			policies[p] = true
		}
		if isListening(ref) {
			maps.Copy(policies, o.policiesAt[ref])
		}
	}
	own.SessionPolicies = slices.Collect(maps.Keys(policies))
	own.Sort()
	all := *o.context
	all.Routes, all.Services, all.SessionPolicies = own.Routes, own.Services, own.SessionPolicies
	all.PassedOver = s.store.PassedOver()
	return &all
}

// isListening is of kinds on whose listeners policies may be for.
func isListening(ref object.Ref) bool {
	return ref.Kind == object.KindGateway || ref.Kind == object.KindGatewayClass
}

// listRejected gives the routes with a session policy that is rejected.
func listRejected(parts []status.Part) map[object.Ref]bool {
	rejected := map[object.Ref]bool{}
	for _, p := range parts {
		for _, d := range p.Paths {
			rejected[d.Path.Route] = rejected[d.Path.Route] || d.Rejected
		}
	}
	return rejected
}

// updateRefused brings up to date which of some routes are refused as a whole, and marks the Gateways that count others
// then.
func (s *State) updateRefused(some map[object.Ref]bool, parts []status.Part) {
	rejected, problems := listRejected(parts), s.problemsOf(some)
	now := map[object.Ref][]gateway.ListenerKey{}
	for ref := range some {
		route := cmp.Or(s.objects.routes[ref], s.objects.streams[ref])
		if route != nil && status.IsRefused(route, problems[ref], rejected[ref]) {
			now[ref] = nil
		}
	}
	if len(now) > 0 {
		for _, p := range append([]status.Part{s.base.streams.status}, parts...) {
			p.Attachments.VisitAttached(func(l gateway.ListenerKey, routes []object.Ref) {
				for _, ref := range routes {
					if _, is := now[ref]; is {
						now[ref] = append(now[ref], l)
					}
				}
			})
		}
	}
	mark := func(listeners []gateway.ListenerKey) {
		for _, l := range listeners {
			some[l.Gateway] = true
		}
	}
	for ref := range maps.Clone(some) {
		was := s.statuses.refused[ref]
		if slices.Equal(was, now[ref]) {
			continue
		}
		mark(was)
		mark(now[ref])
		if s.statuses.refused[ref] = now[ref]; len(now[ref]) == 0 {
			delete(s.statuses.refused, ref)
		}
	}
}

// problemsOf gives what there is to say of each of some objects. The reports are read once for all: one of a group that
// has a tenant's 10,000 routes is about each of them.
func (s *State) problemsOf(some map[object.Ref]bool) map[object.Ref][]report.Problem {
	rep, problems := &report.Report{}, map[object.Ref][]report.Problem{}
	s.reportAbout(some, rep)
	for _, p := range rep.Problems() {
		problems[p.Ref] = append(problems[p.Ref], p)
	}
	return problems
}

// attachedOn counts the routes on the listeners of Gateways that are among some objects, without those that are refused
// as a whole.
func (s *State) attachedOn(some map[object.Ref]bool) map[gateway.ListenerKey]int {
	counted := map[gateway.ListenerKey]int{}
	for l, n := range s.statuses.attached.now {
		if some[l.Gateway] {
			counted[l] = n
		}
	}
	for _, listeners := range s.statuses.refused {
		for _, l := range listeners {
			if some[l.Gateway] {
				counted[l]--
			}
		}
	}
	return counted
}

// reportAbout passes on what there is to say of some objects, and of the policies that all routes may depend on: their
// targets say which of them hold.
func (s *State) reportAbout(some map[object.Ref]bool, rep *report.Report) {
	about, reports := maps.Clone(some), map[*report.Report]bool{}
	for _, p := range s.objects.context.LoadBalancers {
		about[p.Ref()] = true
	}
	for ref := range about {
		maps.Copy(reports, s.reported.about[ref])
	}
	for r := range reports {
		rep.AddAbout(about, r)
	}
}
