package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/policy-config"
)

// attacher puts every policy's blocks where its targets are.
type attacher struct {
	*targetIndex
	objects         *resource.Objects
	policySubjects  map[object.Ref]report.Subject // the policies, once somebody asks
	index           precedence.Index
	invalidBackends map[object.Ref]bool // XBackends with a session that can't be
	attachments     []Attachment
	classes         string // the namespace whose policies for GatewayClasses count
	rep             *report.Report
}

// attachPolicies gives the blocks of every policy by what they are attached to.
func attachPolicies(objects *resource.Objects, classes string, memory *Cache, rep *report.Report) *attacher {
	policies := len(objects.SessionPolicies) + len(objects.TrafficPolicies)
	a := &attacher{
		targetIndex: memory.targetsFor(objects), objects: objects,
		index: make(precedence.Index, policies), attachments: make([]Attachment, 0, policies),
		invalidBackends: map[object.Ref]bool{}, classes: classes, rep: rep,
	}
	for i, s := range validatePolicies(objects.SessionPolicies, memory.policies) {
		a.attachSessionPolicy(objects.SessionPolicies[i], s)
	}
	for _, p := range objects.TrafficPolicies {
		a.attachTrafficPolicy(p)
	}
	for _, b := range objects.Backends {
		a.attachXBackend(b)
	}
	return a
}

// findSubject gives an object that policies attach to, or a policy; nil if there is none.
func (a *attacher) findSubject(ref object.Ref) report.Subject {
	if s := a.subjects[ref]; s != nil {
		return s
	}
	if a.policySubjects == nil {
		a.policySubjects = map[object.Ref]report.Subject{}
		addSubjects(a.policySubjects, a.objects.SessionPolicies)
		addSubjects(a.policySubjects, a.objects.TrafficPolicies)
		addSubjects(a.policySubjects, a.objects.LoadBalancers)
	}
	return a.policySubjects[ref]
}

func addSubjects[T any](authors map[object.Ref]report.Subject, policies []*resource.Object[T]) {
	for _, p := range policies {
		authors[p.Origin().Ref] = p
	}
}

// validatedPolicy is what a SessionPersistencePolicy comes to by itself.
type validatedPolicy struct {
	fault   string // what is wrong with it; empty if nothing is
	targets []precedence.Attachment
	blocks  [][]precedence.SettingsBlock // at each of them
}

// validatePolicies looks at each policy by itself.
func validatePolicies(policies []*resource.Object[sessionPolicy], kept *memo.Table[*resource.Object[sessionPolicy], *validatedPolicy]) []*validatedPolicy {
	return parallel.Map(policies, func(some []*resource.Object[sessionPolicy], results []*validatedPolicy) {
		for i, p := range some {
			same := func(*validatedPolicy) bool { return true } // objects do not change
			results[i] = kept.Get(p, same, func() *validatedPolicy { return validatePolicy(p) })
		}
	})
}

func validatePolicy(p *resource.Object[sessionPolicy]) *validatedPolicy {
	s := &validatedPolicy{fault: joinFaults(precedence.CheckPolicy(p.Origin(), &p.Value.Spec)), targets: precedence.ListTargets(p.Namespace, &p.Value.Spec)}
	for _, at := range s.targets {
		s.blocks = append(s.blocks, slices.Clip(precedence.PolicyBlocks(p.Origin(), at.Target, &p.Value.Spec)))
	}
	return s
}

// attachSessionPolicy attaches a SessionPersistencePolicy.
func (a *attacher) attachSessionPolicy(p *resource.Object[sessionPolicy], s *validatedPolicy) {
	fault := s.fault
	if fault != "" {
		a.rep.WarnForAt(p, ReasonInvalid, "spec", fault+": the policy has no effect")
	}
	for i, at := range s.targets {
		att := Attachment{Policy: p.Origin(), Subject: p, Target: at.Target, Path: at.Path}
		switch _, ok := precedence.HierarchyLevelOf(at.Target); {
		case fault != "":
			att.Reason, att.Message = ReasonInvalid, fault
		case !ok:
			att.Reason, att.Message = ReasonInvalid, "policies of this kind do not attach to "+at.Target.String()
		case at.Target.Kind == object.KindGatewayClass && p.Namespace != a.classes:
			att.Reason = ReasonInvalid
			att.Message = fmt.Sprintf("policies for GatewayClasses count in the namespace %s only", a.classes)
		}
		a.attachTo(att, fault != "", s.blocks[i])
	}
}

// attachTo attaches blocks to one target, if it is there.
func (a *attacher) attachTo(att Attachment, reported bool, blocks []precedence.SettingsBlock) {
	if att.Reason == "" && !a.exists[att.Target] {
		att.Reason, att.Message = ReasonTargetNotFound, "there is no "+att.Target.String()+" in the input"
	}
	a.attachments = append(a.attachments, att)
	switch {
	case att.Reason == "":
		a.index.Add(att.Target, blocks)
	case !reported:
		a.rep.WarnForAt(att.Subject, att.Reason, att.Path, att.Message+": the policy has no effect there")
	}
}

// joinFaults says what is wrong, whatever a CRD has let through (S49); empty if nothing is.
func joinFaults(faults policyconfig.ErrorList) string {
	all := make([]string, len(faults))
	for i, e := range faults {
		all[i] = e.Error()
	}
	return strings.Join(all, "; ")
}

// attachTrafficPolicy attaches an XBackendTrafficPolicy. Without sessionPersistence it still keeps younger ones off (S14).
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
		a.rep.WarnForAt(p, ReasonInvalid, f.Path, f.Message+": the policy has no effect on sessions")
	}
	for i, ref := range p.Value.Spec.TargetRefs {
		block.Target = object.TargetRef{Ref: object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}}
		att := Attachment{Policy: p.Origin(), Subject: p, Target: block.Target, Path: field.NewPath("spec", "targetRefs").Index(i).String()}
		switch {
		case !isBackendRef(string(ref.Group), string(ref.Kind)):
			att.Reason, att.Message = ReasonInvalid, "policies of this kind attach to Services and XBackends only"
		case len(faults) > 0:
			att.Reason, att.Message = ReasonInvalid, faults.Error()
		}
		a.attachTo(att, inline == nil || len(faults) > 0, []precedence.SettingsBlock{block}) // of retry budgets others speak
	}
}

func isBackendRef(group, kind string) bool {
	return group == "" && kind == object.KindService || group == xGroup && kind == object.KindXBackend
}

// attachXBackend notes what stands inline in an XBackend. One whose session can't be honoured serves nobody: see S50.
func (a *attacher) attachXBackend(b *resource.Object[resource.XBackend]) {
	path := field.NewPath("spec", sessionKey)
	inline := b.Sessions[path.String()]
	if inline == nil {
		return
	}
	ref := b.Origin().Ref
	block := precedence.FromInline(inline, precedence.InlineXBackend, b.Origin(), object.TargetRef{Ref: ref}, path.String())
	for _, f := range precedence.CheckBlock(block) {
		a.invalidBackends[ref] = true
		a.rep.WarnForAt(b, ReasonInvalid, f.Path, f.Message+": every request of the rules that use the XBackend gets 500")
	}
	a.index.Add(block.Target, []precedence.SettingsBlock{block})
}
