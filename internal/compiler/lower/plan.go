package lower

import (
	"maps"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// NewPlan gives what a target is written from whose control plane makes listeners, routes and clusters itself.
func NewPlan(
	objects *resource.Objects,
	ports []gateway.Port,
	decisions *policy.Decisions,
	backends *backend.Index,
	rep *report.Report,
) *ir.Plan {
	p := &planner{
		index: backends, classes: indexClasses(objects),
		routes:   make(map[*gateway.Route]*ir.RouteObject, len(objects.Routes)),
		gateways: map[*gatewayObject]*ir.Gateway{}, backends: map[*backend.Backend]*ir.Backend{},
		sessions: map[*policy.Rule]*ir.RuleSessions{}, revoked: revokedBackends{}, plan: &ir.Plan{
			Objects: newObjects(objects), HostRoutes: listObjects(objects.HostRoutes), Written: newWritten(objects.Written),
		},
	}
	p.indexHosts(objects.Hosts)
	for _, route := range objects.Routes {
		p.newRoute(route)
	}
	for _, r := range listAttachedRules(ports, decisions) {
		p.plan.Rules = append(p.plan.Rules, p.newAttachedRule(r))
	}
	p.revoked.advise(rep)
	for _, g := range slices.SortedFunc(maps.Keys(p.gateways), resource.ByAge) {
		p.plan.Gateways = append(p.plan.Gateways, p.gateways[g])
	}
	return p.plan
}

type gatewayObject = resource.Object[gatewayv1.Gateway]

// planner makes each value of the plan once, so that equal pointers mean the same.
type planner struct {
	index    *backend.Index
	classes  map[string]*gatewayv1.ParametersReference
	routes   map[*gateway.Route]*ir.RouteObject
	gateways map[*gatewayObject]*ir.Gateway
	backends map[*backend.Backend]*ir.Backend
	sessions map[*policy.Rule]*ir.RuleSessions
	revoked  revokedBackends
	plan     *ir.Plan
}

// indexHosts notes the objects that add hosts, the first for each.
func (p *planner) indexHosts(hosts []*resource.Object[resource.Host]) {
	p.plan.Hosts = map[string]*ir.Object{}
	for _, h := range hosts {
		one := newObject(h)
		for _, name := range h.Value.Spec.Hosts {
			if p.plan.Hosts[name] == nil {
				p.plan.Hosts[name] = &one
			}
		}
	}
}

// newGateway gives the Gateway's own value.
func (p *planner) newGateway(g *gatewayObject) *ir.Gateway {
	if made := p.gateways[g]; made != nil {
		return made
	}
	made := &ir.Gateway{Object: newObject(g), Class: string(g.Value.Spec.GatewayClassName), Parameters: p.newParameters(g)}
	if object.APIKind(g.Kind).Group != gatewayv1.GroupName {
		made.Selector = map[string]string{}
		for name, value := range g.Value.Spec.Infrastructure.Labels {
			made.Selector[string(name)] = string(value)
		}
	}
	for _, l := range g.Value.Spec.Listeners {
		made.Listeners = append(made.Listeners, &ir.GatewayListener{
			Gateway: made, Name: string(l.Name), Port: l.Port, Protocol: l.Protocol,
		})
	}
	p.gateways[g] = made
	return made
}

// newParameters follows the Gateway's own reference, or else its class's.
func (p *planner) newParameters(g *gatewayObject) *ir.ParametersRef {
	if own := g.Value.Spec.Infrastructure; own != nil && own.ParametersRef != nil {
		ref := own.ParametersRef
		return &ir.ParametersRef{Ref: object.Ref{Kind: string(ref.Kind), Namespace: g.Namespace, Name: ref.Name}}
	}
	of := p.classes[string(g.Value.Spec.GatewayClassName)]
	if of == nil {
		return nil
	}
	ref := object.Ref{Kind: string(of.Kind), Namespace: string(*of.Namespace), Name: of.Name}
	return &ir.ParametersRef{Ref: ref, OfClass: true}
}

// newRoute gives the route's own value, with all of its rules.
func (p *planner) newRoute(route *gateway.Route) *ir.RouteObject {
	if made := p.routes[route]; made != nil {
		return made
	}
	made := &ir.RouteObject{Object: newObject(route)}
	for i := range route.Value.Spec.Rules {
		made.Rules = append(made.Rules, p.newRule(made, route, i))
	}
	for _, path := range slices.Sorted(maps.Keys(route.Sessions)) {
		inline := ir.InlineSession{Path: path}
		if name := route.Sessions[path].Settings.SessionName; name != nil {
			inline.SessionName = string(*name)
		}
		made.InlineSessions = append(made.InlineSessions, inline)
	}
	p.routes[route] = made
	p.plan.Routes = append(p.plan.Routes, made)
	return made
}

func (p *planner) newRule(of *ir.RouteObject, route *gateway.Route, index int) *ir.Rule {
	spec := &route.Value.Spec.Rules[index]
	extra := route.ExtraOf(index)
	rule := &ir.Rule{Route: of, Index: index, MatchNames: extra.MatchNames, Delegates: extra.Delegates}
	if rule.MatchNames == nil {
		rule.MatchNames = make([]string, len(spec.Matches))
	}
	if spec.Name != nil {
		rule.Name = string(*spec.Name)
	}
	if retry := spec.Retry; retry != nil {
		rule.Retries = retry.Attempts == nil || *retry.Attempts > 0
		rule.RetriesCodes = rule.Retries && len(retry.Codes) > 0
	}
	rule.Mirrors = slices.ContainsFunc(
		spec.Filters,
		func(f gatewayv1.HTTPRouteFilter) bool { return f.RequestMirror != nil },
	)
	for _, f := range spec.Filters {
		if f.CORS != nil {
			rule.CORS = lowerCORS(f.CORS)
		}
	}
	for n, ref := range spec.BackendRefs {
		rule.Backends = append(rule.Backends, p.newBackendRef(ref.BackendRef, p.index.ResolveOf(route, index, n)))
	}
	return rule
}

// newBackendRef is a reference to a backend, nil where it leads nowhere, which is for the control plane to say.
func (p *planner) newBackendRef(ref gatewayv1.BackendRef, to *backend.Backend) ir.BackendRef {
	made := ir.BackendRef{Weight: 1}
	if ref.Kind != nil && *ref.Kind != object.KindService {
		made.Kind = string(*ref.Kind)
	}
	if ref.Weight != nil {
		made.Weight = *ref.Weight
	}
	if to != nil {
		made.Backend = p.newBackend(to)
	}
	return made
}

// newBackend gives the backend's own value.
func (p *planner) newBackend(b *backend.Backend) *ir.Backend {
	if p.backends[b] == nil {
		p.backends[b] = &ir.Backend{Ref: b.Object, Port: b.Port, Subset: b.Subset, Tag: token.BackendTag(b.Name)}
	}
	return p.backends[b]
}

func (p *planner) newAttachedRule(r attachedRule) *ir.AttachedRule {
	g, route := p.newGateway(r.listener.Gateway()), p.newRoute(r.route)
	at := slices.IndexFunc(g.Listeners, func(l *ir.GatewayListener) bool { return l.Name == r.listener.Name() })
	return &ir.AttachedRule{
		Rule: route.Rules[r.index], Listener: g.Listeners[at],
		Hostnames: r.listener.Hostnames(r.route), Sessions: p.newSessions(r.route, r.decided),
	}
}

// newSessions gives the value of what was decided about a rule.
func (p *planner) newSessions(route *gateway.Route, decided *policy.Rule) *ir.RuleSessions {
	if made := p.sessions[decided]; made != nil {
		return made
	}
	made := &ir.RuleSessions{Refused: decided.Refused, PerBackend: decided.PerBackend}
	for _, s := range decided.Sessions {
		made.WantsShared = made.WantsShared || decided.PerBackend && s.Release != sessionapi.Release17
		made.All = append(made.All, p.newSession(route, s, decided.Backends()))
	}
	p.sessions[decided] = made
	return made
}

// newSession gives the value of a session, over its own backend or over all.
func (p *planner) newSession(route *gateway.Route, s *policy.Session, backends []*backend.Backend) *ir.Session {
	made := &ir.Session{Name: s.PolicyName}
	if s.Backend != nil {
		made.Backend, backends = p.newBackend(s.Backend), []*backend.Backend{s.Backend}
	}
	policies := p.revokeBackends(route, s, backends)
	if len(backends) < 2 {
		policies = ir.Anywhere(policies)
	}
	for i, one := range policies {
		one.Routes, one.Clusters = nil, nil
		made.Policies = append(made.Policies, ir.SessionPolicy{Policy: one, Matches: s.Matches[i]})
	}
	return made
}

// revokeBackends makes a session's policies revoke the backends that its documents revoke (S43). It names them as
// tokens do, for only the control plane knows their hosts.
func (p *planner) revokeBackends(
	route *gateway.Route,
	s *policy.Session,
	backends []*backend.Backend,
) []policyconfig.Policy {
	revoked := s.Effective.RevokedBackends()
	if len(revoked) == 0 {
		return s.Policies
	}
	p.revoked.note(route, s, revoked, func(name string) bool {
		return slices.ContainsFunc(backends, func(b *backend.Backend) bool { return b.IsOf(name) })
	})
	latest := map[uint32]policyconfig.Time{} // by tags, of which the filter takes none twice
	for _, r := range revoked {
		for _, b := range backends {
			if b.IsOf(r.Backend) {
				tag := p.newBackend(b).Tag
				latest[tag] = max(latest[tag], r.Before)
			}
		}
	}
	var items []string
	for _, tag := range slices.Sorted(maps.Keys(latest)) {
		items = append(items, policyconfig.RevokedBackend{Tag: tag, Before: latest[tag]}.String())
	}
	policies := slices.Clone(s.Policies)
	for i := range policies {
		policies[i].Revocation.Backends = items
	}
	return policies
}
