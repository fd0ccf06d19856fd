package compiler

import (
	"fmt"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Describe says what affects an object of the input or, with a section, a listener, rule or port of it; of a policy it
// says what the policy affects. words name the object, such as httproute/shop/cart. The error is of type Errors when a
// file can't be read; any other is about the words or the options. For a target with a control plane of its own, which
// does the balancing, only sessions are described.
func Describe(sources []Source, o Options, words, section string) (*describe.Description, error) {
	o.writeNothing()
	o.HoldInvalid = true
	j, err := analyze(sources, &o)
	if err == nil && o.Target.findController() != "" {
		err = o.Target.emit(j, &o, &Result{}) // for what the target leaves out
	}
	if err != nil {
		return nil, err
	}
	k := j.collectDescribables()
	ref, err := describe.Find(words, k.objects)
	if err != nil {
		return nil, err
	}
	if k.subjects[ref] == nil {
		return nil, j.explainRefusal(words, ref)
	}
	if section != "" && !slices.Contains(k.sections[ref], section) {
		return nil, fmt.Errorf("%s: there is no listener, rule or port %q in it", ref, section)
	}
	in := describe.Input{Decisions: j.Decisions, Traffic: j.Traffic, Subjects: k.subjects, Withheld: j.findWithheld}
	in.Budgets = j.listBudgets(ref, o.budget())
	if shared := o.Target.findEmitter().sharedPath; shared != nil {
		in.SharedPath = func(p *policyconfig.Policy) string { return j.findSharedPath(p.Scope, shared) }
	}
	if j.Shared.LoadBalancing != nil {
		in.LoadBalancing = j.Shared.LoadBalancing.Attachments
	}
	d := describe.Describe(ref, section, in)
	if d.IsIdle() {
		for _, p := range j.rep.Problems() {
			if p.Ref == ref && !p.Advice {
				d.Findings = append(d.Findings, Problem{Path: p.Path, Message: p.Message}.String())
			}
		}
	}
	return d, nil
}

// explainRefusal says of an object of the input that it is left out, and why.
func (j *analysis) explainRefusal(words string, ref object.Ref) error {
	var why Errors
	for _, p := range j.rep.Problems() {
		if p.Ref == ref && !p.Advice {
			why = append(why, p)
		}
	}
	return fmt.Errorf("%s: %s is refused:\n%s", words, ref, why.Error())
}

// listBudgets lists the budgets of a Gateway, or those that a route takes from.
func (j *analysis) listBudgets(ref object.Ref, budget gateway.Budget) []gateway.Taken {
	if ref.Kind == object.KindGateway {
		return gateway.ListFor("", []string{ref.Key()}, j.Topology.Usage.List(budget))
	}
	var gateways []string
	for _, p := range j.Topology.Attachments.Parents[ref] {
		gateways = append(gateways, p.Gateway.Key())
	}
	if len(gateways) == 0 {
		return nil
	}
	return gateway.ListFor(ref.Namespace, gateways, j.Topology.Usage.List(budget))
}

// findSharedPath gives the path that the cookies of a scope share on the target; empty if they don't.
func (j *analysis) findSharedPath(scope string, shared func(*ir.Rule, *ir.Session) string) string {
	for _, rule := range j.Plan.Rules {
		for _, s := range rule.Sessions.All {
			if s.Policies[0].Scope == scope && s.Policies[0].Cookie != nil {
				return shared(rule.Rule, s)
			}
		}
	}
	return ""
}

// describables is the input's objects that can be described, and those that are refused, which are no subjects.
type describables struct {
	objects  []object.Ref
	subjects map[object.Ref]report.Subject
	sections map[object.Ref][]string
}

func (j *analysis) collectDescribables() *describables {
	k := &describables{subjects: map[object.Ref]report.Subject{}, sections: map[object.Ref][]string{}}
	describable := func(t resource.Traits) bool { return t.Describable }
	j.objects.Visit(describable, func(e resource.Entry) {
		k.objects = append(k.objects, e.Ref)
		k.subjects[e.Ref], k.sections[e.Ref] = e.Subject, e.Sections
	})
	for _, ref := range j.objects.Refused {
		if k.subjects[ref] == nil {
			k.objects = append(k.objects, ref)
		}
	}
	return k
}
