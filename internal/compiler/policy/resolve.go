package policy

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/policy-config"
)

// ruleInput is all that a rule's sessions hang on, on one listener, as long as no other rule is in their way.
type ruleInput struct {
	ruleLocation
	hostnames []string // those of the route that the listener has, too
	backends  []backend.Identity
	refusals  []Refusal // for backends whose session can't be honoured
	// blocksByPath has the blocks on each way but for what is inline in the rule: with perBackend one for each backend, else one.
	blocksByPath [][]precedence.SettingsBlock
	// blocksByBackend has, where a split may be refused for it (S36), those on the way to each backend alone.
	blocksByBackend [][]precedence.SettingsBlock
}

// ruleLocation is where a rule is met.
type ruleLocation struct {
	route                *gateway.Route
	rule                 int
	class                string // of the Gateway
	gateway              object.Ref
	listener             string
	release              sessionapi.APIRelease
	xbackend, perBackend bool
}

// locationKey names a rule on a listener.
type locationKey struct {
	route    *gateway.Route
	rule     int
	gateway  object.Ref
	listener string
}

func (s *ruleLocation) key() locationKey { return locationKey{s.route, s.rule, s.gateway, s.listener} }

// equal reports whether two rules have the same sessions, backends' endpoints aside.
func (e *ruleInput) equal(o *ruleInput) bool {
	return e.ruleLocation == o.ruleLocation && slices.Equal(e.hostnames, o.hostnames) && slices.Equal(e.backends, o.backends) &&
		slices.Equal(e.refusals, o.refusals) &&
		slices.EqualFunc(e.blocksByPath, o.blocksByPath, slices.Equal) && slices.EqualFunc(e.blocksByBackend, o.blocksByBackend, slices.Equal)
}

// gatherInput gathers it.
func (d *decider) gatherInput(r *Rule) *ruleInput {
	e := &ruleInput{ruleLocation: d.locateRule(r.key), hostnames: r.hostnames, refusals: d.gatherShared(r.key.route, r.key.rule).refusals}
	for _, b := range r.backends {
		e.backends = append(e.backends, b.Identity)
	}
	if !e.perBackend {
		e.blocksByPath = [][]precedence.SettingsBlock{d.blocksOn(e.trafficPath(r.backends...))}
	}
	for _, b := range r.backends {
		if e.perBackend {
			e.blocksByPath = append(e.blocksByPath, d.blocksOn(e.trafficPath(b)))
		} else if d.options.RejectPartial {
			e.blocksByBackend = append(e.blocksByBackend, d.blocksOn(e.trafficPath(b)))
		}
	}
	return e
}

func (d *decider) locateRule(at ruleKey) ruleLocation {
	common, g := d.gatherShared(at.route, at.rule), at.listener.Gateway()
	return ruleLocation{
		route: at.route, rule: at.rule, class: string(g.Value.Spec.GatewayClassName), gateway: g.Origin().Ref,
		listener: at.listener.Name(), release: common.release, xbackend: common.xbackend, perBackend: common.perBackend,
	}
}

// trafficPath is the one that leads to some of the rule's backends.
func (s *ruleLocation) trafficPath(backends ...*backend.Backend) precedence.TrafficPath {
	trafficPath := precedence.TrafficPath{Class: s.class, Gateway: s.gateway, Listener: s.listener, Route: s.route.Origin().Ref}
	if name := s.route.Value.Spec.Rules[s.rule].Name; name != nil {
		trafficPath.Rule = string(*name)
	}
	for _, b := range backends {
		trafficPath.Backends = append(trafficPath.Backends, b.Object)
	}
	return trafficPath
}

// resolveRules gives every rule what its sessions come to by themselves.
func (d *decider) resolveRules() {
	all := make([]*ruleInput, len(d.order))
	for i, r := range d.order {
		all[i] = d.gatherInput(r)
	}
	found := parallel.Map(all, func(some []*ruleInput, results []*ruleResult) {
		for i, e := range some {
			same := func(f *ruleResult) bool { return f.equal(e) }
			results[i] = d.options.Cache.results.Get(e.key(), same, func() *ruleResult { return e.resolve(d.options.Write) })
		}
	})
	for i, f := range found {
		d.order[i].apply(f)
		if slices.ContainsFunc(f.rule.Sessions, func(s *Session) bool { return s.Rejected }) {
			d.rejected[f.route] = true
		}
	}
}

// ruleResult is what a rule's sessions come to by themselves. It does not change.
type ruleResult struct {
	*ruleInput
	rule *Rule
}

// apply gives the rule sessions of its own from a finding.
func (r *Rule) apply(f *ruleResult) {
	r.Routes, r.Refused, r.PerBackend, r.renames = f.rule.Routes, f.rule.Refused, f.rule.PerBackend, f.rule.renames
	for _, found := range f.rule.candidates {
		s, decision := *found, *found.Decision
		s.Decision, s.rule = &decision, r
		if s.backendIndex >= 0 {
			s.Backend = r.backends[s.backendIndex]
		}
		r.candidates = append(r.candidates, &s)
		if s.Effective.On {
			r.Sessions = append(r.Sessions, &s)
		}
	}
}

// resolve works out what becomes of the rule. It looks at nothing but the evidence.
func (e *ruleInput) resolve(write writer) *ruleResult {
	r := &Rule{key: ruleKey{nil, e.route, e.rule}, id: RuleIdentity(e.route, e.rule), hostnames: e.hostnames, PerBackend: e.perBackend}
	for i := range e.backends {
		r.backends = append(r.backends, &backend.Backend{Identity: e.backends[i]})
	}
	refusals, inline := e.resolveInline()
	for i, blocks := range e.blocksByPath {
		if blocks = slices.Concat(blocks, inline); len(blocks) == 0 {
			continue
		}
		s, to := &Session{rule: r, backendIndex: -1}, r.backends
		if e.perBackend {
			s.backendIndex, s.Backend, to = i, r.backends[i], r.backends[i:i+1]
		}
		s.Decision = &Decision{
			Path: e.trafficPath(to...), Route: e.route, Rule: e.rule, Release: e.release, Effective: precedence.Merge(blocks),
		}
		r.candidates = append(r.candidates, s)
		if s.Effective.On {
			s.Refusals = slices.Clone(refusals)
			s.refuseUnservable(e)
			s.ownRefusals = slices.Clip(s.Refusals)
			r.Sessions = append(r.Sessions, s)
		}
	}
	r.nameSessions()
	r.configurePolicies(write)
	return &ruleResult{e, r}
}

// resolveInline gives the refusals of all ways, and what stands inline in the rule.
func (e *ruleInput) resolveInline() (refusals []Refusal, inline []precedence.SettingsBlock) {
	refusals = slices.Clone(e.refusals)
	hints := findReleaseHints(e.route, e.rule, e.xbackend)
	for _, err := range hints.Errors() {
		refusals = append(refusals, Refusal{err.Field, err.ErrorBody()})
	}
	if hints.Inline == nil {
		return refusals, nil
	}
	trafficPath := e.trafficPath()
	block := precedence.FromInline(hints.Inline, precedence.InlineRule, e.route.Origin(), object.TargetRef{Ref: trafficPath.Route, Section: trafficPath.Rule}, hints.Path.String())
	for _, err := range precedence.CheckBlock(block) {
		refusals = append(refusals, Refusal{err.Path, err.Message})
	}
	return refusals, []precedence.SettingsBlock{block}
}

// refuseUnservable refuses what can't be where there is a session.
func (s *Session) refuseUnservable(e *ruleInput) {
	for i := range e.backends {
		if b := &e.backends[i]; b.ClientIP && (s.backendIndex < 0 || s.backendIndex == i) {
			s.Rejected = true
			s.Refusals = append(s.Refusals, Refusal{s.rulePath().String(), fmt.Sprintf(
				"%s has sessionAffinity ClientIP, which can't be together with the session persistence that %s turns on (%s, %s)",
				b.Object, s.Effective.TurnedOnBy.Origin, s.Effective.TurnedOnBy.Path, s.Effective.TurnedOnBy.Level)})
		}
	}
	if s.backendIndex >= 0 || !s.Effective.TurnedOnBy.Level.IsOnService() {
		return
	}
	for i, blocks := range e.blocksByBackend {
		if !precedence.Merge(blocks).On {
			s.Refusals = append(s.Refusals, Refusal{s.rulePath().Child("backendRefs").String(), fmt.Sprintf(
				"%s turns session persistence on for a part of the split, and %s has no policy", s.Effective.TurnedOnBy.Origin, e.backends[i].Object)})
			return
		}
	}
}

// writer is policyconfig.Write, in Options.
type writer = func(policyconfig.Policy) (*policyconfig.Written, error)
