package policy

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// Options is what decisions hang on beside the documents.
type Options struct {
	// Release is the one that the user names, Unstated for none (S18).
	Release sessionapi.APIRelease
	// ClassPolicies is the namespace whose policies for GatewayClasses count (S4).
	ClassPolicies string
	// RejectPartial refuses a split with a policy on only one of its Services (S36).
	RejectPartial bool
	// ExternalControlPlane says that a control plane answers requests: a rule that can't have its session goes without.
	ExternalControlPlane bool
	// PerBackendSessions gives each backend of a split a session of its own in every generation, for a proxy that chooses the
	// backend before it looks for the session's host.
	PerBackendSessions bool
	// KnowsTermination says that somebody knows since when hosts terminate.
	KnowsTermination bool
	// Write is policyconfig.Write, and keeps what it has written for those who write the plugin's configuration.
	Write writer
	// Cache is what is known from earlier decisions.
	Cache *Cache
}

// Decide works out which session persistence holds on every way that requests take through the ports. What can't be
// honoured goes to the report.
func Decide(objects *resource.Objects, ports []gateway.Port, backends *backend.Index, o Options, rep *report.Report) *Decisions {
	d := &decider{
		attacher: attachPolicies(objects, o.ClassPolicies, o.Cache, rep), backends: backends, options: o,
		rules: make(map[ruleKey]*Rule, len(objects.Routes)), rejected: map[*gateway.Route]bool{},
		sharedInputs: make(map[ruleKey]*sharedInput, len(objects.Routes)),
	}
	d.findAncestorLimit(objects, ports)
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				d.addRule(h.Listener, m.Route, m.Rule)
			}
		}
	}
	d.sortRules()
	d.resolveRules()
	d.suffixNames()
	d.rejectCookieCollisions()
	d.shareAcrossListeners()
	d.reportAll()
	return d.buildDecisions()
}

type decider struct {
	*attacher
	backends      *backend.Index
	options       Options
	rules         map[ruleKey]*Rule
	order         []*Rule // the same, in order
	sharedInputs  map[ruleKey]*sharedInput
	rejected      map[*gateway.Route]bool
	renames       []Rename
	ancestorLimit *ancestors.Limit
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
	// AncestorLimited says that a policy about its balancing or retries has no effect here, for want of room (S63).
	AncestorLimited bool
	// PerBackend says that each backend has a session of its own, and that the weights choose among them on every
	// request (S32).
	PerBackend bool
	// Sessions are those that are on: at most one without PerBackend.
	Sessions []*Session

	key        ruleKey
	id         Identity
	hostnames  []string // those of the route that the listener has, too
	backends   []*backend.Backend
	candidates []*Session // those that are off too
	renames    []Rename   // for the names of its backends' sessions (S27)
}

// Session is what holds on one way.
type Session struct {
	*Decision
	// Backend is the one that the session is about, nil for all of the rule's.
	Backend *backend.Backend

	rule          *Rule
	backendIndex  int                   // the index of Backend among the rule's, -1 for all
	ownRefusals   []Refusal             // those that have nothing to do with its name
	nameValue     precedence.FieldValue // where the name is written; of the rung BuiltIn if it is generated
	suffixRule    string                // the rule by which the name was suffixed
	pathByMatch   []string              // of the cookie, by match
	locations     []cookieLocation      // where it is seen
	replacedPaths []string              // the paths that a name with __Host- took the place of
}

// Gateway is the one of the listener that the rule was judged for. Where several listeners share the rule, what is
// decided does not differ among their Gateways.
func (r *Rule) Gateway() object.Ref { return r.key.listener.Gateway().Origin().Ref }

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

// sharedInput is what the ways of one rule have in common.
type sharedInput struct {
	backends   []*backend.Backend
	xbackend   bool // one of them is an XBackend with a session of its own
	release    sessionapi.APIRelease
	perBackend bool
	refusals   []Refusal // for backends whose session can't be honoured
}

func (d *decider) gatherShared(route *gateway.Route, rule int) *sharedInput {
	key := ruleKey{nil, route, rule}
	if i := d.sharedInputs[key]; i != nil {
		return i
	}
	i := &sharedInput{}
	d.sharedInputs[key] = i
	for n, ref := range route.Value.Spec.Rules[rule].BackendRefs {
		b, _ := d.backends.Resolve(route, nil, ref.BackendRef) // package lower says why there is none
		if b == nil || slices.Contains(i.backends, b) {
			continue
		}
		i.backends = append(i.backends, b)
		i.xbackend = i.xbackend || slices.ContainsFunc(d.index[object.TargetRef{Ref: b.Object}], isInlineXBackend)
		if d.invalidBackends[b.Object] {
			at := rulePath(rule).Child("backendRefs").Index(n).String()
			i.refusals = append(i.refusals, Refusal{at, "the session persistence of " + b.Object.String() + " can't be honoured"})
		}
	}
	hints := findReleaseHints(route, rule, i.xbackend)
	d.reportDeprecations(route, hints)
	hints.Option = d.options.Release
	i.release = hints.Release()
	i.perBackend = len(i.backends) > 0 && (i.release == sessionapi.Release17 || speakDifferently(route, i.backends) ||
		d.options.PerBackendSessions && len(i.backends) > 1)
	return i
}

// findReleaseHints is what a rule shows of its generation.
func findReleaseHints(route *gateway.Route, rule int, xbackend bool) sessionapi.ReleaseHints {
	if len(route.Sessions) == 0 {
		return sessionapi.ReleaseHints{XBackend: xbackend}
	}
	path := rulePath(rule).Child(sessionKey)
	return sessionapi.ReleaseHints{Inline: route.Sessions[path.String()], Path: path, XBackend: xbackend}
}

func isInlineXBackend(b precedence.SettingsBlock) bool { return b.Level == precedence.InlineXBackend }

// speakDifferently reports whether backends can't be under one session, for their hosts are not spoken to alike (S37). Those
// of a GRPCRoute all are, whether their Services say so or not.
func speakDifferently(route *gateway.Route, backends []*backend.Backend) bool {
	if route.Kind == object.KindGRPCRoute {
		return false
	}
	for _, b := range backends[1:] {
		if (b.Protocol == backend.HTTP2) != (backends[0].Protocol == backend.HTTP2) {
			return true
		}
	}
	return false
}

// addRule notes a rule on a listener, once.
func (d *decider) addRule(listener *gateway.Listener, route *gateway.Route, rule int) {
	key := ruleKey{listener, route, rule}
	if d.rules[key] != nil {
		return
	}
	r := &Rule{key: key, id: RuleIdentity(route, rule), hostnames: listener.Hostnames(route), backends: d.gatherShared(route, rule).backends}
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

// sortRules puts the rules into an order that hangs on nothing but the objects: by age of the route, as S28 wants it.
func (d *decider) sortRules() {
	d.order = memo.Sort(d.options.Cache.order, d.order, func(r *Rule) ruleKey { return r.key },
		func(a, b *Rule) int { return a.key.compare(b.key) })
}

// buildDecisions gives what was decided.
func (d *decider) buildDecisions() *Decisions {
	out := &Decisions{Attachments: d.attachments, Renames: d.renames, AncestorLimit: d.ancestorLimit, rules: d.rules, rejected: d.rejected}
	for _, r := range d.order {
		for _, s := range r.candidates {
			out.Paths = append(out.Paths, s.Decision)
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
