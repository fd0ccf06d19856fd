package policy

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/policy-config"
)

// evidence is all that a rule's sessions hang on, on one listener, as long as no other rule is in their way.
type evidence struct {
	scene
	hostnames []string // those of the route that the listener has, too
	backends  []backend.Identity
	refusals  []Refusal // for backends whose session can't be honoured
	// ways has the blocks on each way but for what is inline in the rule: with perBackend one for each backend, else one.
	ways [][]ladder.Block
	// apart has, where a split may be refused for it (S36), those on the way to each backend alone.
	apart [][]ladder.Block
}

// scene is where a rule is met.
type scene struct {
	route                *gateway.Route
	rule                 int
	class                string // of the Gateway
	gateway              ladder.Object
	listener             string
	generation           ladder.Generation
	xbackend, perBackend bool
}

// sceneKey names a rule on a listener.
type sceneKey struct {
	route    *gateway.Route
	rule     int
	gateway  ladder.Object
	listener string
}

func (s *scene) key() sceneKey { return sceneKey{s.route, s.rule, s.gateway, s.listener} }

// equal reports whether two rules have the same sessions, backends' endpoints aside.
func (e *evidence) equal(o *evidence) bool {
	return e.scene == o.scene && slices.Equal(e.hostnames, o.hostnames) && slices.Equal(e.backends, o.backends) &&
		slices.Equal(e.refusals, o.refusals) &&
		slices.EqualFunc(e.ways, o.ways, slices.Equal) && slices.EqualFunc(e.apart, o.apart, slices.Equal)
}

// evidence gathers it.
func (d *decider) evidence(r *Rule) *evidence {
	e := &evidence{scene: d.scene(r.key), hostnames: r.hostnames, refusals: d.gather(r.key.route, r.key.rule).refusals}
	for _, b := range r.backends {
		e.backends = append(e.backends, b.Identity)
	}
	if !e.perBackend {
		e.ways = [][]ladder.Block{d.on(e.way(r.backends...))}
	}
	for _, b := range r.backends {
		if e.perBackend {
			e.ways = append(e.ways, d.on(e.way(b)))
		} else if d.options.RejectPartial {
			e.apart = append(e.apart, d.on(e.way(b)))
		}
	}
	return e
}

func (d *decider) scene(at ruleKey) scene {
	common, g := d.gather(at.route, at.rule), at.listener.Gateway()
	return scene{
		route: at.route, rule: at.rule, class: string(g.Value.Spec.GatewayClassName), gateway: g.Source().Object,
		listener: at.listener.Name(), generation: common.generation, xbackend: common.xbackend, perBackend: common.perBackend,
	}
}

// way is the one that leads to some of the rule's backends.
func (s *scene) way(backends ...*backend.Backend) ladder.Way {
	way := ladder.Way{Class: s.class, Gateway: s.gateway, Listener: s.listener, Route: s.route.Source().Object}
	if name := s.route.Value.Spec.Rules[s.rule].Name; name != nil {
		way.Rule = string(*name)
	}
	for _, b := range backends {
		way.Backends = append(way.Backends, b.Object)
	}
	return way
}

// judge gives every rule what its sessions come to by themselves.
func (d *decider) judge() {
	all := make([]*evidence, len(d.order))
	for i, r := range d.order {
		all[i] = d.evidence(r)
	}
	found := parallel.Map(all, func(some []*evidence, results []*finding) {
		for i, e := range some {
			same := func(f *finding) bool { return f.equal(e) }
			results[i] = d.options.Memory.findings.Get(e.key(), same, func() *finding { return e.judge(d.options.Write) })
		}
	})
	for i, f := range found {
		d.order[i].take(f)
		if slices.ContainsFunc(f.rule.Sessions, func(s *Session) bool { return s.Rejected }) {
			d.rejected[f.route] = true
		}
	}
}

// finding is what a rule's sessions come to by themselves. It does not change.
type finding struct {
	*evidence
	rule *Rule
}

// take gives the rule sessions of its own from a finding.
func (r *Rule) take(f *finding) {
	r.Routes, r.Refused, r.PerBackend, r.renames = f.rule.Routes, f.rule.Refused, f.rule.PerBackend, f.rule.renames
	for _, found := range f.rule.ways {
		s, decision := *found, *found.Decision
		s.Decision, s.rule = &decision, r
		if s.of >= 0 {
			s.Backend = r.backends[s.of]
		}
		r.ways = append(r.ways, &s)
		if s.Effective.On {
			r.Sessions = append(r.Sessions, &s)
		}
	}
}

// judge works out what becomes of the rule. It looks at nothing but the evidence.
func (e *evidence) judge(write writer) *finding {
	r := &Rule{key: ruleKey{nil, e.route, e.rule}, id: RuleIdentity(e.route, e.rule), hostnames: e.hostnames, PerBackend: e.perBackend}
	for i := range e.backends {
		r.backends = append(r.backends, &backend.Backend{Identity: e.backends[i]})
	}
	refusals, inline := e.common()
	for i, blocks := range e.ways {
		if blocks = slices.Concat(blocks, inline); len(blocks) == 0 {
			continue
		}
		s, to := &Session{rule: r, of: -1}, r.backends
		if e.perBackend {
			s.of, s.Backend, to = i, r.backends[i], r.backends[i:i+1]
		}
		s.Decision = &Decision{
			Way: e.way(to...), Route: e.route, Rule: e.rule, Generation: e.generation, Effective: ladder.Merge(blocks),
		}
		r.ways = append(r.ways, s)
		if s.Effective.On {
			s.Refusals = slices.Clone(refusals)
			s.refuse(e)
			s.before = slices.Clip(s.Refusals)
			r.Sessions = append(r.Sessions, s)
		}
	}
	r.name()
	r.configure(write)
	return &finding{e, r}
}

// common gives the refusals of all ways, and what stands inline in the rule.
func (e *evidence) common() (refusals []Refusal, inline []ladder.Block) {
	refusals = slices.Clone(e.refusals)
	signs := signsOf(e.route, e.rule, e.xbackend)
	for _, err := range signs.Errors() {
		refusals = append(refusals, Refusal{err.Field, err.ErrorBody()})
	}
	if signs.Inline == nil {
		return refusals, nil
	}
	way := e.way()
	block := signs.Inline.Block(ladder.InlineRule, e.route.Source(), ladder.Target{Object: way.Route, Section: way.Rule}, signs.Path.String())
	for _, err := range ladder.Check(block) {
		refusals = append(refusals, Refusal{err.Path, err.Message})
	}
	return refusals, []ladder.Block{block}
}

// refuse refuses what can't be where there is a session.
func (s *Session) refuse(e *evidence) {
	for i := range e.backends {
		if b := &e.backends[i]; b.ClientIP && (s.of < 0 || s.of == i) {
			s.Rejected = true
			s.Refusals = append(s.Refusals, Refusal{s.rulePath().String(), fmt.Sprintf(
				"%s has sessionAffinity ClientIP, which can't be together with the session persistence that %s turns on (%s, %s)",
				b.Object, s.Effective.Origin.Source, s.Effective.Origin.Path, s.Effective.Origin.Rung)})
		}
	}
	if s.of >= 0 || !s.Effective.Origin.Rung.OfService() {
		return
	}
	for i, blocks := range e.apart {
		if !ladder.Merge(blocks).On {
			s.Refusals = append(s.Refusals, Refusal{s.rulePath().Child("backendRefs").String(), fmt.Sprintf(
				"%s turns session persistence on for a part of the split, and %s has no policy", s.Effective.Origin.Source, e.backends[i].Object)})
			return
		}
	}
}

// writer is policyconfig.Write, in Options.
type writer = func(policyconfig.Policy) (*policyconfig.Written, error)
