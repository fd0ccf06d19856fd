package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/backend"
	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/ladder"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/compiler/schema"
	"github.com/limpet-proxy/limpet/policy-config"
)

// Options is what decisions hang on beside the documents.
type Options struct {
	// Generation is the one that the user names, Unstated for none (S18).
	Generation ladder.Generation
	// ClassPolicies is the namespace whose policies for GatewayClasses count (S4).
	ClassPolicies string
	// RejectPartial refuses a split with a policy on only one of its Services (S36).
	RejectPartial bool
	// Controlled says that a control plane answers requests: a rule that can't have its session goes without.
	Controlled bool
	// Apart gives each backend of a split a session of its own in every generation, for a proxy that chooses the
	// backend before it looks for the session's host.
	Apart bool
	// Drains says that somebody knows since when hosts terminate.
	Drains bool
	// Write is policyconfig.Write, and keeps what it has written for those who write the plugin's configuration.
	Write func(policyconfig.Policy) (*policyconfig.Written, error)
	// Memory is what is known from earlier decisions, under the same options.
	Memory *Memory
}

// Decide works out which session persistence holds on every way that requests take through the ports. What can't be
// honoured goes to the report.
func Decide(objects *schema.Objects, ports []gateway.Port, backends *backend.Index, o Options, rep *report.Report) *Decisions {
	d := &decider{
		attacher: attach(objects, o.ClassPolicies, o.Memory.faults, rep), backends: backends, options: o,
		rules: map[ruleKey]*Rule{}, rejected: map[*gateway.Route]bool{}, ingredients: map[ruleKey]*ingredients{},
	}
	d.crowd(objects, ports)
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				d.rule(h.Listener, m.Route, m.Rule)
			}
		}
	}
	d.sort()
	d.name()
	d.configure()
	d.collide()
	d.unify()
	d.report()
	return d.decisions()
}

type decider struct {
	*attacher
	backends    *backend.Index
	options     Options
	rules       map[ruleKey]*Rule
	order       []*Rule // the same, in order
	ingredients map[ruleKey]*ingredients
	rejected    map[*gateway.Route]bool
	renames     []Rename
	crowded     Crowded
	balancers   map[ladder.Target][]ladder.Object // LoadBalancerPolicies, where any are crowded
}

// ruleKey names a rule, on a listener or (without one) on all of them.
type ruleKey struct {
	listener *gateway.Listener
	route    *gateway.Route
	rule     int
}

// Rule is what session persistence comes to for a rule on one listener.
type Rule struct {
	// Routes holds the name of the proxy's route for each match of the rule.
	Routes []string
	// Refused says that the rule can't have the session that was asked for: every request of it is answered 500.
	Refused bool
	// Crowded says that a policy about its balancing or retries has no effect here, for want of room (S63).
	Crowded bool
	// PerBackend says that each backend has a session of its own, and that the weights choose among them on every
	// request (S32).
	PerBackend bool
	// Sessions are those that are on: at most one without PerBackend.
	Sessions []*Session

	key      ruleKey
	id       Identity
	backends []*backend.Backend
	ways     []*Session // those that are off too
}

// Session is what holds on one way.
type Session struct {
	*Decision
	// Backend is the one that the session is about, nil for all of the rule's.
	Backend *backend.Backend

	rule   *Rule
	named  ladder.Written // where the name is written; of the rung BuiltIn if it is generated
	suffix string         // the rule by which the name was suffixed
	paths  []string       // of the cookie, by match
	spots  []spotKey      // where it is seen
	asked  []string       // the paths that a name with __Host- took the place of
}

// Gateway is the one of the listener that the rule was judged for. Where several listeners share the rule, what is
// decided does not differ among their Gateways.
func (r *Rule) Gateway() ladder.Object { return r.key.listener.Gateway().Source().Object }

// Backends are those that the rule's references lead to, each once.
func (r *Rule) Backends() []*backend.Backend { return r.backends }

// Session gives the one of a backend, nil if it has none.
func (r *Rule) Session(b *backend.Backend) *Session {
	i := slices.IndexFunc(r.Sessions, func(s *Session) bool { return s.Backend == nil || s.Backend == b })
	if i < 0 {
		return nil
	}
	return r.Sessions[i]
}

// ingredients is what the ways of one rule have in common.
type ingredients struct {
	inline     *ladder.Inline
	path       *field.Path // of the rule
	generation ladder.Generation
	backends   []*backend.Backend
	refusals   []Refusal
}

func (d *decider) gather(route *gateway.Route, rule int) *ingredients {
	key := ruleKey{nil, route, rule}
	if i := d.ingredients[key]; i != nil {
		return i
	}
	i := &ingredients{path: field.NewPath("spec", "rules").Index(rule)}
	d.ingredients[key] = i
	i.inline = route.Sessions[i.path.Child(sessionKey).String()]
	signs := ladder.Signs{Inline: i.inline, Path: i.path.Child(sessionKey)}
	for n, ref := range route.Value.Spec.Rules[rule].BackendRefs {
		b, _ := d.backends.Resolve(route, i.path.Child("backendRefs").Index(n), ref.BackendRef)
		if b == nil || slices.Contains(i.backends, b) {
			continue
		}
		i.backends = append(i.backends, b)
		signs.XBackend = signs.XBackend || slices.ContainsFunc(d.index[ladder.Target{Object: b.Object}], isInlineXBackend)
		if d.broken[b.Object] {
			i.refuse(i.path.Child("backendRefs").Index(n), "the session persistence of "+b.Object.String()+" can't be honoured")
		}
	}
	d.deprecations(route, signs)
	signs.Option = d.options.Generation
	i.generation = signs.Generation()
	for _, e := range signs.Errors() {
		i.refusals = append(i.refusals, Refusal{e.Field, e.ErrorBody()})
	}
	if i.inline != nil {
		for _, e := range ladder.Check(i.block(route, rule)) {
			i.refusals = append(i.refusals, Refusal{e.Path, e.Message})
		}
	}
	return i
}

func isInlineXBackend(b ladder.Block) bool { return b.Rung == ladder.InlineXBackend }

func (i *ingredients) refuse(path *field.Path, message string) {
	i.refusals = append(i.refusals, Refusal{path.String(), message})
}

// block is what stands inline in the rule.
func (i *ingredients) block(route *gateway.Route, rule int) ladder.Block {
	target := ladder.Target{Object: route.Source().Object}
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		target.Section = string(*name)
	}
	return i.inline.Block(ladder.InlineRule, route.Source(), target, i.path.Child(sessionKey).String())
}

// rule judges every way of a rule on a listener, once.
func (d *decider) rule(listener *gateway.Listener, route *gateway.Route, rule int) {
	key := ruleKey{listener, route, rule}
	if d.rules[key] != nil {
		return
	}
	r := &Rule{key: key, id: RuleIdentity(route, rule)}
	d.rules[key] = r
	d.order = append(d.order, r)
	common := d.gather(route, rule)
	r.backends = common.backends
	r.PerBackend = len(common.backends) > 0 && (common.generation == ladder.Gen17 || unlike(route, common.backends) ||
		d.options.Apart && len(common.backends) > 1)
	if !r.PerBackend {
		d.way(r, common, nil)
		return
	}
	for _, b := range common.backends {
		d.way(r, common, b)
	}
}

// unlike reports whether backends can't be under one session, for their hosts are not spoken to alike (S37). Those
// of a GRPCRoute all are, whether their Services say so or not.
func unlike(route *gateway.Route, backends []*backend.Backend) bool {
	if route.Kind == schema.KindGRPCRoute {
		return false
	}
	for _, b := range backends[1:] {
		if (b.Protocol == backend.HTTP2) != (backends[0].Protocol == backend.HTTP2) {
			return true
		}
	}
	return false
}

// way judges one way, which leads to one backend or, with nil, to all of the rule's.
func (d *decider) way(r *Rule, common *ingredients, only *backend.Backend) {
	route, way := r.key.route, d.wayTo(r.key, common, only)
	blocks := d.on(way)
	if common.inline != nil {
		blocks = append(blocks, common.block(route, r.key.rule))
	}
	if len(blocks) == 0 {
		return
	}
	s := &Session{Backend: only, rule: r, Decision: &Decision{
		Way: way, Route: route, Rule: r.key.rule, Generation: common.generation, Effective: ladder.Merge(blocks),
	}}
	r.ways = append(r.ways, s)
	if s.Effective.On {
		s.Refusals = slices.Clone(common.refusals)
		d.judge(s, common)
		r.Sessions = append(r.Sessions, s)
		r.Refused = r.Refused || len(s.Refusals) > 0
	}
}

// wayTo is the way through a listener to a rule and one backend or, with nil, all of the rule's.
func (d *decider) wayTo(key ruleKey, common *ingredients, only *backend.Backend) ladder.Way {
	listener, route := key.listener, key.route
	spec := &route.Value.Spec.Rules[key.rule]
	way := ladder.Way{
		Class:   string(listener.Gateway().Value.Spec.GatewayClassName),
		Gateway: listener.Gateway().Source().Object, Listener: listener.Name(), Route: route.Source().Object,
	}
	if spec.Name != nil {
		way.Rule = string(*spec.Name)
	}
	for _, b := range common.backends {
		if only == nil || only == b {
			way.Backends = append(way.Backends, b.Object)
		}
	}
	return way
}

// judge refuses what can't be where there is a session.
func (d *decider) judge(s *Session, common *ingredients) {
	for _, b := range common.backends {
		if b.ClientIP && (s.Backend == nil || s.Backend == b) {
			s.Rejected = true
			d.rejected[s.Route] = true
			s.Refusals = append(s.Refusals, Refusal{s.rulePath().String(), fmt.Sprintf(
				"%s has sessionAffinity ClientIP, which can't be together with the session persistence that %s turns on (%s, %s)",
				b.Object, s.Effective.Origin.Source, s.Effective.Origin.Path, s.Effective.Origin.Rung)})
		}
	}
	if d.options.RejectPartial && s.Backend == nil && s.Effective.Origin.Rung.OfService() {
		d.refusePartial(s)
	}
}

// refusePartial refuses a split in which the Services' own policies want a session for some of them only (S36).
func (d *decider) refusePartial(s *Session) {
	if without := d.without(s); without != nil {
		s.Refusals = append(s.Refusals, Refusal{s.rulePath().Child("backendRefs").String(), fmt.Sprintf(
			"%s turns session persistence on for a part of the split, and %s has no policy", s.Effective.Origin.Source, without)})
	}
}

// RestrictTo makes the session's policies hold only for requests that Envoy sends to a cluster.
func (s *Session) RestrictTo(cluster string) {
	for i := range s.Policies {
		s.Policies[i].Clusters = []string{cluster}
	}
}

func (s *Session) rulePath() *field.Path { return field.NewPath("spec", "rules").Index(s.Rule) }

// sort puts the rules into an order that hangs on nothing but the objects: by age of the route, as S28 wants it.
func (d *decider) sort() {
	slices.SortFunc(d.order, func(a, b *Rule) int { return a.key.compare(b.key) })
}

// decisions gives what was decided.
func (d *decider) decisions() *Decisions {
	out := &Decisions{Attachments: d.attachments, Renames: d.renames, Crowded: d.crowded, rules: d.rules, rejected: d.rejected}
	for _, r := range d.order {
		for _, s := range r.ways {
			out.Ways = append(out.Ways, s.Decision)
		}
	}
	return out
}

// Rule gives what session persistence comes to for a rule on a listener.
func (d *Decisions) Rule(listener *gateway.Listener, route *gateway.Route, rule int) *Rule {
	return d.rules[ruleKey{listener, route, rule}]
}

// Rejected says that a route serves nothing at all (S48).
func (d *Decisions) Rejected(route *gateway.Route) bool { return d.rejected[route] }
