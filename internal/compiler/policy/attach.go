package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/memo"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/policy-config"
)

// attacher puts every policy's blocks where its targets are.
type attacher struct {
	*targetIndex
	objects         *resource.Objects
	policySubjects  map[ladder.Ref]report.Subject // the policies, once somebody asks
	index           ladder.Index
	invalidBackends map[ladder.Ref]bool // XBackends with a session that can't be
	attachments     []Attachment
	classes         string // the namespace whose policies for GatewayClasses count
	rep             *report.Report
}

// attachPolicies gives the blocks of every policy by what they are attached to.
func attachPolicies(objects *resource.Objects, classes string, memory *Cache, rep *report.Report) *attacher {
	policies := len(objects.SessionPolicies) + len(objects.TrafficPolicies)
	a := &attacher{
		targetIndex: memory.targetsFor(objects), objects: objects,
		index: make(ladder.Index, policies), attachments: make([]Attachment, 0, policies),
		invalidBackends: map[ladder.Ref]bool{}, classes: classes, rep: rep,
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
func (a *attacher) findSubject(ref ladder.Ref) report.Subject {
	if s := a.subjects[ref]; s != nil {
		return s
	}
	if a.policySubjects == nil {
		a.policySubjects = map[ladder.Ref]report.Subject{}
		addSubjects(a.policySubjects, a.objects.SessionPolicies)
		addSubjects(a.policySubjects, a.objects.TrafficPolicies)
		addSubjects(a.policySubjects, a.objects.LoadBalancers)
	}
	return a.policySubjects[ref]
}

func addSubjects[T any](authors map[ladder.Ref]report.Subject, policies []*resource.Object[T]) {
	for _, p := range policies {
		authors[p.Origin().Ref] = p
	}
}

// validatedPolicy is what a SessionPersistencePolicy comes to by itself.
type validatedPolicy struct {
	fault   string // what is wrong with it; empty if nothing is
	targets []ladder.Attachment
	blocks  [][]ladder.SettingsBlock // at each of them
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
	s := &validatedPolicy{fault: joinFaults(ladder.CheckPolicy(p.Origin(), &p.Value.Spec)), targets: ladder.ListTargets(p.Namespace, &p.Value.Spec)}
	for _, at := range s.targets {
		s.blocks = append(s.blocks, slices.Clip(ladder.PolicyBlocks(p.Origin(), at.Target, &p.Value.Spec)))
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
		switch _, ok := at.Target.HierarchyLevel(); {
		case fault != "":
			att.Reason, att.Message = ReasonInvalid, fault
		case !ok:
			att.Reason, att.Message = ReasonInvalid, "policies of this kind do not attach to "+at.Target.String()
		case at.Target.Kind == ladder.KindGatewayClass && p.Namespace != a.classes:
			att.Reason = ReasonInvalid
			att.Message = fmt.Sprintf("policies for GatewayClasses count in the namespace %s only", a.classes)
		}
		a.attachTo(att, fault != "", s.blocks[i])
	}
}

// attachTo attaches blocks to one target, if it is there.
func (a *attacher) attachTo(att Attachment, reported bool, blocks []ladder.SettingsBlock) {
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
	block := ladder.SettingsBlock{Level: ladder.BackendTraffic, Origin: p.Origin(), Path: "spec"}
	inline := p.Sessions[path.String()]
	var faults policyconfig.ErrorList
	if inline != nil {
		block = inline.ToBlock(ladder.BackendTraffic, p.Origin(), ladder.TargetRef{}, path.String())
		faults = ladder.CheckBlock(block)
	}
	for _, f := range faults {
		a.rep.WarnForAt(p, ReasonInvalid, f.Path, f.Message+": the policy has no effect on sessions")
	}
	for i, ref := range p.Value.Spec.TargetRefs {
		block.Target = ladder.TargetRef{Ref: ladder.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}}
		att := Attachment{Policy: p.Origin(), Subject: p, Target: block.Target, Path: field.NewPath("spec", "targetRefs").Index(i).String()}
		switch {
		case !isBackendRef(string(ref.Group), string(ref.Kind)):
			att.Reason, att.Message = ReasonInvalid, "policies of this kind attach to Services and XBackends only"
		case len(faults) > 0:
			att.Reason, att.Message = ReasonInvalid, faults.Error()
		}
		a.attachTo(att, inline == nil || len(faults) > 0, []ladder.SettingsBlock{block}) // of retry budgets others speak
	}
}

func isBackendRef(group, kind string) bool {
	return group == "" && kind == ladder.KindService || group == xGroup && kind == ladder.KindXBackend
}

// attachXBackend notes what stands inline in an XBackend. One whose session can't be honoured serves nobody: see S50.
func (a *attacher) attachXBackend(b *resource.Object[resource.XBackend]) {
	path := field.NewPath("spec", sessionKey)
	inline := b.Sessions[path.String()]
	if inline == nil {
		return
	}
	ref := b.Origin().Ref
	block := inline.ToBlock(ladder.InlineXBackend, b.Origin(), ladder.TargetRef{Ref: ref}, path.String())
	for _, f := range ladder.CheckBlock(block) {
		a.invalidBackends[ref] = true
		a.rep.WarnForAt(b, ReasonInvalid, f.Path, f.Message+": every request of the rules that use the XBackend gets 500")
	}
	a.index.Add(block.Target, []ladder.SettingsBlock{block})
}
