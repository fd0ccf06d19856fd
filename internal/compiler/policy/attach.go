package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ancestors"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// attachedPolicies is what policies, and XBackends with a session of their own, come to at each of their targets.
type attachedPolicies struct {
	index           precedence.Index
	attachments     []Attachment
	invalidBackends map[object.Ref]bool // XBackends whose session can't be honoured
}

// blocksOn gives the blocks on a path, except for those of policies that have no effect on its Gateway.
func (a *attachedPolicies) blocksOn(path precedence.TrafficPath, limit *ancestors.Limit) []precedence.SettingsBlock {
	blocks := a.index.BlocksOn(path)
	if limit == nil {
		return blocks
	}
	return slices.DeleteFunc(
		blocks,
		func(b precedence.SettingsBlock) bool { return limit.Reached(b.Origin.Ref, path.Gateway) },
	)
}

// lostOverrides gives the policies whose overrides would hold on a path if their status could list its Gateway (S63).
func (a *attachedPolicies) lostOverrides(path precedence.TrafficPath, limit *ancestors.Limit) (policies []object.Ref) {
	if limit == nil {
		return nil
	}
	for _, b := range a.index.BlocksOn(path) {
		if b.Level.IsOverride() && limit.Reached(b.Origin.Ref, path.Gateway) {
			policies = append(policies, b.Origin.Ref)
		}
	}
	return policies
}

// attachPolicies attaches every policy's blocks to its targets. What can't be attached goes to the report.
func attachPolicies(
	objects *resource.Objects, targets *Targets, validated []*validatedPolicy, o Options, rep *report.Report,
) *attachedPolicies {
	policies := len(objects.SessionPolicies) + len(objects.TrafficPolicies)
	a := &attacher{
		attachedPolicies: &attachedPolicies{
			index: make(precedence.Index, policies), attachments: make([]Attachment, 0, policies),
			invalidBackends: map[object.Ref]bool{},
		},
		targets: targets, classes: o.ClassPolicies, rep: rep,
	}
	for _, v := range validated {
		a.attachSessionPolicy(v)
	}
	for _, p := range objects.TrafficPolicies {
		a.attachTrafficPolicy(p)
	}
	for _, b := range objects.Backends {
		a.attachXBackend(b)
	}
	return a.attachedPolicies
}

type attacher struct {
	*attachedPolicies
	targets *Targets
	classes string // the namespace whose policies for GatewayClasses count
	rep     *report.Report
}

// validatedPolicy is what a SessionPersistencePolicy comes to by itself.
type validatedPolicy struct {
	policy  *resource.Object[sessionPolicy]
	fault   string // what is wrong with it; empty if nothing is
	targets []precedence.Attachment
	blocks  [][]precedence.SettingsBlock // at each of them
}

// validatePolicy looks at a policy by itself.
func validatePolicy(in policyInputs) *validatedPolicy {
	p := in.policy
	v := &validatedPolicy{
		policy:  p,
		fault:   joinFaults(precedence.CheckPolicy(p.Origin(), &p.Value.Spec)),
		targets: precedence.ListTargets(p.Namespace, &p.Value.Spec),
	}
	for _, at := range v.targets {
		v.blocks = append(v.blocks, slices.Clip(precedence.PolicyBlocks(p.Origin(), at.Target, &p.Value.Spec)))
	}
	return v
}

// attachSessionPolicy attaches a SessionPersistencePolicy.
func (a *attacher) attachSessionPolicy(v *validatedPolicy) {
	p, fault := v.policy, v.fault
	if fault != "" {
		a.rep.WarnForAt(report.PolicyInvalid, p, report.ReasonInvalid, "spec", fault+": the policy has no effect")
	}
	if len(v.blocks) > 0 && len(v.blocks[0]) > 1 {
		a.rep.AdviseAt(report.PolicyAdvice, p, "spec", "several strategies in one object, as the first GEP-713 has it: "+
			"today's has one strategy for each; write a policy for each, with strategy")
	}
	for i, at := range v.targets {
		att := Attachment{Policy: p.Origin(), Subject: p, Target: at.Target, Path: at.Path}
		if p.Value.Spec.ClassName != nil {
			att.Class = string(*p.Value.Spec.ClassName)
		}
		why := precedence.CheckTarget(p.Namespace, &p.Value.Spec, i)
		switch _, ok := precedence.HierarchyLevelOf(at.Target); {
		case fault == "" && why != "":
			att.Reason, att.Message = report.ReasonInvalid, why
		case fault != "":
			att.Reason, att.Message = report.ReasonInvalid, fault
		case !ok:
			att.Reason, att.Message = report.ReasonInvalid, "policies of this kind do not attach to "+at.Target.String()
		case at.Target.Kind == object.KindGatewayClass && p.Namespace != a.classes:
			att.Reason = report.ReasonInvalid
			att.Message = fmt.Sprintf("policies for GatewayClasses count in the namespace %s only", a.classes)
		}
		a.attachTo(att, fault != "", v.blocks[i])
	}
}

// attachTo attaches blocks to one target, if it is there.
func (a *attacher) attachTo(att Attachment, reported bool, blocks []precedence.SettingsBlock) {
	// a policy's own namespace is there
	if att.Reason == "" && att.Target.Kind != object.KindNamespace && !a.targets.exists[att.Target] {
		att.Reason, att.Message = report.ReasonTargetNotFound, a.targets.absence(att.Target)
	}
	a.attachments = append(a.attachments, att)
	switch {
	case att.Reason == "":
		a.index.Add(att.Target, blocks)
	case !reported:
		a.rep.WarnForAt(
			report.TargetNotFound,
			att.Subject,
			att.Reason,
			att.Path,
			att.Message+": the policy has no effect there",
		)
	}
}

// joinFaults joins faults into one text, those that the CRD lets through too (S49); empty for none.
func joinFaults(faults policyconfig.ErrorList) string {
	all := make([]string, len(faults))
	for i, e := range faults {
		all[i] = e.Error()
	}
	return strings.Join(all, "; ")
}

// attachTrafficPolicy attaches an XBackendTrafficPolicy. Without sessionPersistence it still keeps younger ones out
// (S14).
func (a *attacher) attachTrafficPolicy(p *resource.Object[trafficPolicy]) {
	path := field.NewPath("spec", sessionKey)
	block := precedence.SettingsBlock{Level: precedence.BackendTraffic, Origin: p.Origin(), Path: "spec"}
	inline := p.Sessions[path.String()]
	var faults policyconfig.ErrorList
	if inline != nil {
		block = precedence.FromInline(inline, precedence.BackendTraffic, p.Origin(), object.TargetRef{}, path.String())
		faults = precedence.CheckBlock(block)
	}
	for _, f := range faults {
		a.rep.WarnForAt(
			report.PolicyInvalid,
			p,
			report.ReasonInvalid,
			f.Path,
			f.Message+": the policy has no effect on sessions",
		)
	}
	for i, ref := range p.Value.Spec.TargetRefs {
		block.Target = object.TargetRef{
			Ref: object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)},
		}
		att := Attachment{
			Policy:  p.Origin(),
			Subject: p,
			Target:  block.Target,
			Path:    field.NewPath("spec", "targetRefs").Index(i).String(),
		}
		switch {
		case !isBackendRef(string(ref.Group), string(ref.Kind)):
			att.Reason, att.Message = report.ReasonInvalid, "policies of this kind attach to Services and XBackends only"
		case len(faults) > 0:
			att.Reason, att.Message = report.ReasonInvalid, faults.Error()
		}
		// package retrybudget reports on the rest
		a.attachTo(att, inline == nil || len(faults) > 0, []precedence.SettingsBlock{block})
	}
}

func isBackendRef(group, kind string) bool {
	return group == "" && kind == object.KindService || group == xGroup && kind == object.KindXBackend
}

// attachXBackend notes what is inline in an XBackend. Rules that use one whose session can't be honoured serve nothing
// (S50).
func (a *attacher) attachXBackend(b *resource.Object[resource.XBackend]) {
	path := field.NewPath("spec", sessionKey)
	inline := b.Sessions[path.String()]
	if inline == nil {
		return
	}
	ref := b.Ref()
	block := precedence.FromInline(
		inline,
		precedence.InlineXBackend,
		b.Origin(),
		object.TargetRef{Ref: ref},
		path.String(),
	)
	for _, f := range precedence.CheckBlock(block) {
		a.invalidBackends[ref] = true
		a.rep.WarnForAt(report.PolicyInvalid, b, report.ReasonInvalid, f.Path,
			f.Message+": every request of the rules that use the XBackend gets 500")
	}
	a.index.Add(block.Target, []precedence.SettingsBlock{block})
}
