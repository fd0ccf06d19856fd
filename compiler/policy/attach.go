package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/ladder"
	"github.com/limpet-proxy/limpet/compiler/parallel"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/compiler/schema"
	"github.com/limpet-proxy/limpet/policy-config"
)

// attacher puts every policy's blocks where its targets are.
type attacher struct {
	index       ladder.Index
	exists      map[ladder.Target]bool
	subjects    map[ladder.Object]report.Subject
	broken      map[ladder.Object]bool // XBackends with a session that can't be
	attachments []Attachment
	classes     string // the namespace whose policies for GatewayClasses count
	rep         *report.Report
}

// attach gives the blocks of every policy by what they are attached to.
func attach(objects *schema.Objects, classes string, kept *faults, rep *report.Report) *attacher {
	policies := len(objects.SessionPolicies) + len(objects.TrafficPolicies) + len(objects.LoadBalancers)
	targets := len(objects.Routes) + len(objects.Services) + len(objects.VirtualServices) + len(objects.Backends)
	a := &attacher{
		index:    make(ladder.Index, policies),
		exists:   make(map[ladder.Target]bool, targets),
		subjects: make(map[ladder.Object]report.Subject, policies+targets),
		broken:   map[ladder.Object]bool{}, classes: classes, rep: rep,
	}
	a.targets(objects)
	for i, fault := range faultsOf(objects.SessionPolicies, kept) {
		a.sessionPolicy(objects.SessionPolicies[i], fault)
	}
	for _, p := range objects.TrafficPolicies {
		a.trafficPolicy(p)
	}
	for _, b := range objects.Backends {
		a.xbackend(b)
	}
	return a
}

// targets notes what policies can be attached to.
func (a *attacher) targets(objects *schema.Objects) {
	for _, o := range objects.Classes {
		known(a, o, "", nil)
	}
	for _, o := range objects.Gateways {
		var names []string
		for _, l := range o.Value.Spec.Listeners {
			names = append(names, string(l.Name))
		}
		known(a, o, o.Namespace, names)
	}
	for _, o := range objects.Routes {
		var names []string
		for _, r := range o.Value.Spec.Rules {
			if r.Name != nil {
				names = append(names, string(*r.Name))
			}
		}
		known(a, o, o.Namespace, names)
	}
	for _, o := range objects.VirtualServices {
		var names []string
		for _, r := range o.Value.Spec.HTTP {
			if r.Name != "" {
				names = append(names, r.Name)
			}
		}
		known(a, o, o.Namespace, names)
	}
	for _, o := range objects.Services {
		known(a, o, o.Namespace, nil)
	}
	for _, o := range objects.Backends {
		known(a, o, o.Namespace, nil)
	}
	for _, o := range objects.SessionPolicies {
		a.subjects[o.Source().Object] = o
	}
	for _, o := range objects.TrafficPolicies {
		a.subjects[o.Source().Object] = o
	}
	for _, o := range objects.LoadBalancers {
		a.subjects[o.Source().Object] = o
	}
}

func known[T any](a *attacher, o *schema.Object[T], namespace string, sections []string) {
	object := ladder.Object{Kind: o.Kind, Namespace: namespace, Name: o.Name}
	a.subjects[object] = o
	a.exists[ladder.Target{Object: object}] = true
	for _, s := range sections {
		a.exists[ladder.Target{Object: object, Section: s}] = true
	}
}

// faultsOf says of each policy what is wrong with it by itself; empty if nothing is.
func faultsOf(policies []*schema.Object[sessionPolicy], kept *faults) []string {
	return parallel.Map(policies, func(some []*schema.Object[sessionPolicy], faults []string) {
		for i, p := range some {
			same := func(string) bool { return true } // objects do not change
			faults[i] = kept.Get(p, same, func() string { return joined(ladder.CheckPolicy(p.Source(), &p.Value.Spec)) })
		}
	})
}

// sessionPolicy attaches a SessionPersistencePolicy, with what is wrong with it by itself.
func (a *attacher) sessionPolicy(p *schema.Object[sessionPolicy], fault string) {
	if fault != "" {
		a.rep.WarnForAt(p, ReasonInvalid, "spec", fault+": the policy has no effect")
	}
	for _, at := range ladder.Targets(p.Namespace, &p.Value.Spec) {
		att := Attachment{Policy: p.Source(), Subject: p, Target: at.Target, Path: at.Path}
		blocks := ladder.PolicyBlocks(p.Source(), at.Target, &p.Value.Spec)
		switch _, ok := at.Target.Level(); {
		case fault != "":
			att.Reason, att.Message = ReasonInvalid, fault
		case !ok:
			att.Reason, att.Message = ReasonInvalid, "policies of this kind do not attach to "+at.Target.String()
		case at.Target.Kind == ladder.KindGatewayClass && p.Namespace != a.classes:
			att.Reason = ReasonInvalid
			att.Message = fmt.Sprintf("policies for GatewayClasses count in the namespace %s only", a.classes)
		}
		a.place(att, fault != "", blocks)
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
		a.index.Add(blocks...)
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
func (a *attacher) trafficPolicy(p *schema.Object[trafficPolicy]) {
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
func (a *attacher) xbackend(b *schema.Object[schema.XBackend]) {
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
	a.index.Add(block)
}
