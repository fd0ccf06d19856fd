package policy

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// attachedRule is a rule on a listener that its route is attached to.
type attachedRule struct {
	ruleKey
	*backendInput
}

// ruleKey names a rule on a listener.
type ruleKey struct {
	listener *gateway.Listener
	route    *gateway.Route
	rule     int
}

// backendInput is what a rule's sessions depend on whichever listener it is on.
type backendInput struct {
	backends   []*backend.Backend // those that its references lead to, each once
	identities []backend.Identity // of the backends
	xbackend   bool               // one of them is an XBackend with a session of its own
	release    sessionapi.APIRelease
	perBackend bool
	refusals   []Refusal // for backends whose session can't be honoured
}

// attachRules returns every rule on every listener that leads to it. Deprecated fields of a rule's session go to the
// report.
func attachRules(
	keys []ruleKey,
	backends *backend.Index,
	attached *attachedPolicies,
	o Options,
	rep *report.Report,
) []*attachedRule {
	rules, all := make([]*attachedRule, len(keys)), make([]attachedRule, len(keys))
	for i, key := range keys {
		all[i].ruleKey = key
		if i > 0 && key.route == keys[i-1].route && key.rule == keys[i-1].rule {
			all[i].backendInput = all[i-1].backendInput
		} else {
			all[i].backendInput = gatherBackends(key.route, key.rule, backends, attached, o, rep)
		}
		rules[i] = &all[i]
	}
	return rules
}

// listRules lists each rule that requests come to once for each listener, in the order of ruleKey.compare.
func listRules(ports []gateway.Port) (rules []ruleKey) {
	seen := map[ruleKey]bool{}
	for _, p := range ports {
		for _, h := range p.Hosts {
			for _, m := range h.Matches {
				key := ruleKey{h.Listener, m.Route, m.Rule}
				if !seen[key] {
					seen[key] = true
					rules = append(rules, key)
				}
			}
		}
	}
	slices.SortFunc(rules, ruleKey.compare)
	return rules
}

// compare puts the older route first, as S28 wants it, then its rules in order, then the listeners by their names: the
// order depends on the objects alone.
func (k ruleKey) compare(o ruleKey) int {
	by := cmp.Or(resource.ByAge(k.route, o.route), cmp.Compare(k.rule, o.rule))
	if by != 0 || k.listener == o.listener {
		return by
	}
	return cmp.Compare(k.listener.Key(), o.listener.Key())
}

// locate says where requests meet the rule.
func (r *attachedRule) locate() ruleLocation {
	g := r.listener.Gateway()
	return ruleLocation{
		route: r.route, rule: r.rule, class: string(g.Value.Spec.GatewayClassName), gateway: g.Ref(),
		listener: r.listener.Name(), release: r.release, xbackend: r.xbackend, perBackend: r.perBackend,
	}
}

// trafficPath is the traffic path to all backends of the rule.
func (r *attachedRule) trafficPath() precedence.TrafficPath {
	l := r.locate()
	return l.pathTo(r.identities)
}

// gatherBackends finds a rule's backends, and the API release by which its session is read.
func gatherBackends(
	route *gateway.Route, rule int, backends *backend.Index, attached *attachedPolicies, o Options, rep *report.Report,
) *backendInput {
	in := &backendInput{}
	for n := range route.Value.Spec.Rules[rule].BackendRefs {
		b := backends.ResolveOf(route, rule, n) // package lower says why there is none
		if b == nil || slices.Contains(in.backends, b) {
			continue
		}
		in.backends, in.identities = append(in.backends, b), append(in.identities, b.Identity)
		for _, block := range attached.index[object.TargetRef{Ref: b.Object}] {
			in.xbackend = in.xbackend || block.Level == precedence.InlineXBackend
		}
		if attached.invalidBackends[b.Object] {
			at := rulePath(rule).Child("backendRefs").Index(n).String()
			in.refusals = append(
				in.refusals,
				Refusal{at, "the session persistence of " + b.Object.String() + " can't be honoured"},
			)
		}
	}
	hints := findReleaseHints(route, rule, in.xbackend)
	reportDeprecations(route, hints, rep)
	hints.Option = o.Release
	in.release = hints.Release()
	in.perBackend = len(in.backends) > 0 && (in.release == sessionapi.Release17 || speakDifferently(route, in.backends))
	return in
}

// findReleaseHints returns what in a rule shows the API release that it is written for.
func findReleaseHints(route *gateway.Route, rule int, xbackend bool) sessionapi.ReleaseHints {
	if len(route.Sessions) == 0 {
		return sessionapi.ReleaseHints{XBackend: xbackend}
	}
	path := rulePath(rule).Child(sessionKey)
	return sessionapi.ReleaseHints{Inline: route.Sessions[path.String()], Path: path, XBackend: xbackend}
}

// speakDifferently reports whether backends can't be under one session, because their hosts speak different protocols
// (S37). Those of a GRPCRoute speak the same, whether their Services say so or not.
func speakDifferently(route *gateway.Route, backends []*backend.Backend) bool {
	if route.Kind == object.KindGRPCRoute {
		return false
	}
	return slices.ContainsFunc(backends[1:], func(b *backend.Backend) bool {
		return (b.Protocol == backend.HTTP2) != (backends[0].Protocol == backend.HTTP2)
	})
}
