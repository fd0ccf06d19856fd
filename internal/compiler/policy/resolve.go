package policy

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// resolvedRule is what precedence makes of the blocks on each path to a rule's backends. It does not change.
type resolvedRule struct {
	*ruleInput
	paths []*resolvedPath // those with any block
}

// resolvedPath is a path to all of the rule's backends or, with perBackend, to one of them.
type resolvedPath struct {
	*ruleInput
	backend     int // the index of the one, -1 for all
	trafficPath precedence.TrafficPath
	effective   precedence.Effective
	// refusals say why the session can't be, whatever its name is; empty if sessions are off.
	refusals []Refusal
	rejected bool
}

// resolveRule merges the blocks on each path.
func resolveRule(in *ruleInput) *resolvedRule {
	r := &resolvedRule{ruleInput: in}
	refusals, inline := in.resolveInline()
	for i, blocks := range in.blocksByPath {
		if blocks = slices.Concat(blocks, inline); len(blocks) == 0 {
			continue
		}
		p := &resolvedPath{ruleInput: in, backend: -1}
		if in.perBackend {
			p.backend = i
		}
		p.effective = precedence.Merge(p.dropForeignPolicies(blocks))
		to := in.backends
		if in.perBackend {
			to = in.backends[i : i+1]
		}
		p.trafficPath = in.pathTo(to)
		if p.effective.On {
			clientIP := p.refuseClientIP()
			p.refusals, p.rejected = slices.Concat(refusals, clientIP, p.refusePartial(), p.refuseUnnamed()), len(clientIP) > 0
		}
		r.paths = append(r.paths, p)
	}
	return r
}

// resolveInline gives what is inline in the rule, and the refusals that all paths have in common.
func (in *ruleInput) resolveInline() (refusals []Refusal, inline []precedence.SettingsBlock) {
	refusals = slices.Clone(in.refusals)
	hints := findReleaseHints(in.route, in.rule, in.xbackend)
	for _, err := range hints.Errors() {
		refusals = append(refusals, Refusal{err.Field, err.ErrorBody()})
	}
	if hints.Inline == nil {
		return refusals, nil
	}
	path := in.pathTo(nil)
	target := object.TargetRef{Ref: path.Route, Section: path.Rule}
	block := precedence.FromInline(hints.Inline, precedence.InlineRule, in.route.Origin(), target, hints.Path.String())
	for _, err := range precedence.CheckBlock(block) {
		refusals = append(refusals, Refusal{err.Path, err.Message})
	}
	return refusals, []precedence.SettingsBlock{block}
}

// refuseClientIP refuses sessions in Services of the route's namespace that have sessionAffinity of their own (S48).
func (p *resolvedPath) refuseClientIP() (refusals []Refusal) {
	for i := range p.backends {
		if b := &p.backends[i]; b.ClientIP && b.Object.Namespace == p.route.Namespace && (p.backend < 0 || p.backend == i) {
			by := p.effective.TurnedOnBy
			refusals = append(refusals, Refusal{p.fieldPath().String(), fmt.Sprintf(
				"%s has sessionAffinity ClientIP, which can't be together with the session persistence that %s turns on (%s, %s)",
				b.Object, by.Origin, by.Path, by.Level)})
		}
	}
	return refusals
}

// refuseUnnamed refuses an envelope of a cookie or header without a name (S76).
func (p *resolvedPath) refuseUnnamed() []Refusal {
	envelope := p.effective.Field("envelope")
	if _, written := p.effective.SessionName(); written || !p.effective.Envelope() {
		return nil
	}
	return []Refusal{{p.fieldPath().String(), fmt.Sprintf(
		"envelope, by %s (%s), needs the name of the application's own cookie or header: sessionName is not written",
		envelope.Origin, envelope.Path)}}
}

// dropForeignPolicies leaves out policies on Services of other namespaces that have sessionAffinity of their own. That
// conflict is the owner's: it costs the owner's policy, and not the routes that use the Service (S48).
func (p *resolvedPath) dropForeignPolicies(blocks []precedence.SettingsBlock) []precedence.SettingsBlock {
	return slices.DeleteFunc(slices.Clone(blocks), func(block precedence.SettingsBlock) bool {
		return slices.ContainsFunc(p.backends, func(b backend.Identity) bool {
			return b.ClientIP && b.Object.Namespace != p.route.Namespace && block.Target.Ref == b.Object
		})
	})
}

// refusePartial refuses, where the user wants it, one session for a split with a Service that has no policy (S36).
func (p *resolvedPath) refusePartial() []Refusal {
	if p.backend >= 0 || !p.effective.TurnedOnBy.Level.IsOnService() {
		return nil
	}
	for i, blocks := range p.blocksByBackend {
		if !precedence.Merge(blocks).On {
			return []Refusal{{p.fieldPath().Child("backendRefs").String(), fmt.Sprintf(
				"%s turns session persistence on for a part of the split, and %s has no policy",
				p.effective.TurnedOnBy.Origin,
				p.backends[i].Object,
			)}}
		}
	}
	return nil
}
