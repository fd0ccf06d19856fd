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
	*targets
	objects     *resource.Objects
	authors     map[ladder.Object]report.Subject // the policies, once somebody asks
	index       ladder.Index
	broken      map[ladder.Object]bool // XBackends with a session that can't be
	attachments []Attachment
	classes     string // the namespace whose policies for GatewayClasses count
	rep         *report.Report
}

// attach gives the blocks of every policy by what they are attached to.
func attach(objects *resource.Objects, classes string, memory *Memory, rep *report.Report) *attacher {
	policies := len(objects.SessionPolicies) + len(objects.TrafficPolicies)
	a := &attacher{
		targets: memory.targetsOf(objects), objects: objects,
		index: make(ladder.Index, policies), attachments: make([]Attachment, 0, policies),
		broken: map[ladder.Object]bool{}, classes: classes, rep: rep,
	}
	for i, s := range standings(objects.SessionPolicies, memory.standings) {
		a.sessionPolicy(objects.SessionPolicies[i], s)
	}
	for _, p := range objects.TrafficPolicies {
		a.trafficPolicy(p)
	}
	for _, b := range objects.Backends {
		a.xbackend(b)
	}
	return a
}

// subject gives an object that policies attach to, or a policy; nil if there is none.
func (a *attacher) subject(object ladder.Object) report.Subject {
	if s := a.subjects[object]; s != nil {
		return s
	}
	if a.authors == nil {
		a.authors = map[ladder.Object]report.Subject{}
		note(a.authors, a.objects.SessionPolicies)
		note(a.authors, a.objects.TrafficPolicies)
		note(a.authors, a.objects.LoadBalancers)
	}
	return a.authors[object]
}

func note[T any](authors map[ladder.Object]report.Subject, policies []*resource.Object[T]) {
	for _, p := range policies {
		authors[p.Source().Object] = p
	}
}

// standing is what a SessionPersistencePolicy comes to by itself.
type standing struct {
	fault   string // what is wrong with it; empty if nothing is
	targets []ladder.Attachment
	blocks  [][]ladder.Block // at each of them
}

// standings looks at each policy by itself.
func standings(policies []*resource.Object[sessionPolicy], kept *memo.Table[*resource.Object[sessionPolicy], *standing]) []*standing {
	return parallel.Map(policies, func(some []*resource.Object[sessionPolicy], results []*standing) {
		for i, p := range some {
			same := func(*standing) bool { return true } // objects do not change
			results[i] = kept.Get(p, same, func() *standing { return newStanding(p) })
		}
	})
}

func newStanding(p *resource.Object[sessionPolicy]) *standing {
	s := &standing{fault: joined(ladder.CheckPolicy(p.Source(), &p.Value.Spec)), targets: ladder.Targets(p.Namespace, &p.Value.Spec)}
	for _, at := range s.targets {
		s.blocks = append(s.blocks, slices.Clip(ladder.PolicyBlocks(p.Source(), at.Target, &p.Value.Spec)))
	}
	return s
}

// sessionPolicy attaches a SessionPersistencePolicy.
func (a *attacher) sessionPolicy(p *resource.Object[sessionPolicy], s *standing) {
	fault := s.fault
	if fault != "" {
		a.rep.WarnForAt(p, ReasonInvalid, "spec", fault+": the policy has no effect")
	}
	for i, at := range s.targets {
		att := Attachment{Policy: p.Source(), Subject: p, Target: at.Target, Path: at.Path}
		switch _, ok := at.Target.Level(); {
		case fault != "":
			att.Reason, att.Message = ReasonInvalid, fault
		case !ok:
			att.Reason, att.Message = ReasonInvalid, "policies of this kind do not attach to "+at.Target.String()
		case at.Target.Kind == ladder.KindGatewayClass && p.Namespace != a.classes:
			att.Reason = ReasonInvalid
			att.Message = fmt.Sprintf("policies for GatewayClasses count in the namespace %s only", a.classes)
		}
		a.place(att, fault != "", s.blocks[i])
	}
}

// place attaches blocks to one target, if it is there.
func (a *attacher) place(att Attachment, said bool, blocks []ladder.Block) {
	if att.Reason == "" && !a.exists[att.Target] {
		att.Reason, att.Message = ReasonTargetNotFound, "there is no "+att.Target.String()+" in the input"
	}
	a.attachments = append(a.attachments, att)
	switch {
	case att.Reason == "":
		a.index.Add(att.Target, blocks)
	case !said:
		a.rep.WarnForAt(att.Subject, att.Reason, att.Path, att.Message+": the policy has no effect there")
	}
}

// joined says what is wrong, whatever a CRD has let through (S49); empty if nothing is.
func joined(faults policyconfig.ErrorList) string {
	all := make([]string, len(faults))
	for i, e := range faults {
		all[i] = e.Error()
	}
	return strings.Join(all, "; ")
}

// trafficPolicy attaches an XBackendTrafficPolicy. Without sessionPersistence it still keeps younger ones off (S14).
func (a *attacher) trafficPolicy(p *resource.Object[trafficPolicy]) {
	path := field.NewPath("spec", sessionKey)
	block := ladder.Block{Rung: ladder.BackendTraffic, Source: p.Source(), Path: "spec"}
	inline := p.Sessions[path.String()]
	var faults policyconfig.ErrorList
	if inline != nil {
		block = inline.Block(ladder.BackendTraffic, p.Source(), ladder.Target{}, path.String())
		faults = ladder.Check(block)
	}
	for _, f := range faults {
		a.rep.WarnForAt(p, ReasonInvalid, f.Path, f.Message+": the policy has no effect on sessions")
	}
	for i, ref := range p.Value.Spec.TargetRefs {
		block.Target = ladder.Target{Object: ladder.Object{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}}
		att := Attachment{Policy: p.Source(), Subject: p, Target: block.Target, Path: field.NewPath("spec", "targetRefs").Index(i).String()}
		switch {
		case !isBackend(string(ref.Group), string(ref.Kind)):
			att.Reason, att.Message = ReasonInvalid, "policies of this kind attach to Services and XBackends only"
		case len(faults) > 0:
			att.Reason, att.Message = ReasonInvalid, faults.Error()
		}
		a.place(att, inline == nil || len(faults) > 0, []ladder.Block{block}) // of retry budgets others speak
	}
}

func isBackend(group, kind string) bool {
	return group == "" && kind == ladder.KindService || group == xGroup && kind == ladder.KindXBackend
}

// xbackend notes what stands inline in an XBackend. One whose session can't be honoured serves nobody: see S50.
func (a *attacher) xbackend(b *resource.Object[resource.XBackend]) {
	path := field.NewPath("spec", sessionKey)
	inline := b.Sessions[path.String()]
	if inline == nil {
		return
	}
	object := b.Source().Object
	block := inline.Block(ladder.InlineXBackend, b.Source(), ladder.Target{Object: object}, path.String())
	for _, f := range ladder.Check(block) {
		a.broken[object] = true
		a.rep.WarnForAt(b, ReasonInvalid, f.Path, f.Message+": every request of the rules that use the XBackend gets 500")
	}
	a.index.Add(block.Target, []ladder.Block{block})
}
