package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
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
	Write writer
	// Memory is what is known from earlier decisions.
	Memory *Memory
}

// Decide works out which session persistence holds on every way that requests take through the ports. What can't be
// honoured goes to the report.
func Decide(objects *resource.Objects, ports []gateway.Port, backends *backend.Index, o Options, rep *report.Report) *Decisions {
	d := &decider{
		attacher: attach(objects, o.ClassPolicies, o.Memory, rep), backends: backends, options: o,
		rules: make(map[ruleKey]*Rule, len(objects.Routes)), rejected: map[*gateway.Route]bool{},
		ingredients: make(map[ruleKey]*ingredients, len(objects.Routes)),
	}
	d.crowd(objects, ports)
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				d.meet(h.Listener, m.Route, m.Rule)
			}
		}
	}
	d.sort()
	d.judge()
	d.name()
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

	key       ruleKey
	id        Identity
	hostnames []string // those of the route that the listener has, too
	backends  []*backend.Backend
	ways      []*Session // those that are off too
	renames   []Rename   // for the names of its backends' sessions (S27)
}

// Session is what holds on one way.
type Session struct {
	*Decision
	// Backend is the one that the session is about, nil for all of the rule's.
	Backend *backend.Backend

	rule   *Rule
	of     int            // the index of Backend among the rule's, -1 for all
	before []Refusal      // those that have nothing to do with its name
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
	backends   []*backend.Backend
	xbackend   bool // one of them is an XBackend with a session of its own
	generation ladder.Generation
	perBackend bool
	refusals   []Refusal // for backends whose session can't be honoured
}

func (d *decider) gather(route *gateway.Route, rule int) *ingredients {
	key := ruleKey{nil, route, rule}
	if i := d.ingredients[key]; i != nil {
		return i
	}
	i := &ingredients{}
	d.ingredients[key] = i
	for n, ref := range route.Value.Spec.Rules[rule].BackendRefs {
		b, _ := d.backends.Resolve(route, nil, ref.BackendRef) // package lower says why there is none
		if b == nil || slices.Contains(i.backends, b) {
			continue
		}
		i.backends = append(i.backends, b)
		i.xbackend = i.xbackend || slices.ContainsFunc(d.index[ladder.Target{Object: b.Object}], isInlineXBackend)
		if d.broken[b.Object] {
			at := rulePath(rule).Child("backendRefs").Index(n).String()
			i.refusals = append(i.refusals, Refusal{at, "the session persistence of " + b.Object.String() + " can't be honoured"})
		}
	}
	signs := signsOf(route, rule, i.xbackend)
	d.deprecations(route, signs)
	signs.Option = d.options.Generation
	i.generation = signs.Generation()
	i.perBackend = len(i.backends) > 0 && (i.generation == ladder.Gen17 || unlike(route, i.backends) ||
		d.options.Apart && len(i.backends) > 1)
	return i
}

// signsOf is what a rule shows of its generation.
func signsOf(route *gateway.Route, rule int, xbackend bool) ladder.Signs {
	if len(route.Sessions) == 0 {
		return ladder.Signs{XBackend: xbackend}
	}
	path := rulePath(rule).Child(sessionKey)
	return ladder.Signs{Inline: route.Sessions[path.String()], Path: path, XBackend: xbackend}
}

func isInlineXBackend(b ladder.Block) bool { return b.Rung == ladder.InlineXBackend }

// unlike reports whether backends can't be under one session, for their hosts are not spoken to alike (S37). Those
// of a GRPCRoute all are, whether their Services say so or not.
func unlike(route *gateway.Route, backends []*backend.Backend) bool {
	if route.Kind == resource.KindGRPCRoute {
		return false
	}
	for _, b := range backends[1:] {
		if (b.Protocol == backend.HTTP2) != (backends[0].Protocol == backend.HTTP2) {
			return true
		}
	}
	return false
}

// meet notes a rule on a listener, once.
func (d *decider) meet(listener *gateway.Listener, route *gateway.Route, rule int) {
	key := ruleKey{listener, route, rule}
	if d.rules[key] != nil {
		return
	}
	r := &Rule{key: key, id: RuleIdentity(route, rule), hostnames: listener.Hostnames(route), backends: d.gather(route, rule).backends}
	d.rules[key] = r
	d.order = append(d.order, r)
}

// RestrictTo makes the session's policies hold only for requests that Envoy sends to a cluster.
func (s *Session) RestrictTo(cluster string) {
	s.Policies = slices.Clone(s.Policies)
	for i := range s.Policies {
		s.Policies[i].Clusters = []string{cluster}
	}
}

func rulePath(rule int) *field.Path { return field.NewPath("spec", "rules").Index(rule) }

func (s *Session) rulePath() *field.Path { return rulePath(s.Rule) }

// sort puts the rules into an order that hangs on nothing but the objects: by age of the route, as S28 wants it.
func (d *decider) sort() {
	d.order = memo.Sort(d.options.Memory.order, d.order, func(r *Rule) ruleKey { return r.key },
		func(a, b *Rule) int { return a.key.compare(b.key) })
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
