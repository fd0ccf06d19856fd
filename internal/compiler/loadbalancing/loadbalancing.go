// Package loadbalancing decides how requests that no session pins are spread over a backend's hosts: it reads
// LoadBalancerPolicies and finds the one that holds for each rule and Service (docs/semantics.md, S51 to S55).
package loadbalancing

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Policy is one author's word on balancing.
type Policy struct {
	// Name is how other authors read of it, such as "LoadBalancerPolicy shop/cart", and Object the object.
	Name   string
	Object object.Ref

	subject      report.Subject
	specPath     *field.Path // of the strategy and the hash policies
	strategyName v1alpha1.Strategy
	strategy     ir.Balancing
	hashes       []hashEntry
	hosts        ir.HostPolicy
	rank         int // the older has the lower one

	// checkPath leads to the health check, slowStartPath to the slow start, and variant tells the hosts' clusters apart,
	// where that is not as in a LoadBalancerPolicy.
	checkPath, slowStartPath *field.Path
	variant                  string
}

// inlineKey is the place of a policy that stands in a rule, by the rule's index.
type inlineKey struct {
	kind, key string
	rule      int
}

// Policies are all LoadBalancerPolicies, by what they attach to.
type Policies struct {
	// Attachments is what became of each target of each LoadBalancerPolicy, in order.
	Attachments []Attachment

	byTarget map[object.TargetRef][]*Policy // the first holds, the others are in conflict with it
	inline   map[inlineKey]*Policy
	unhashed map[object.Ref]ir.Balancing // of objects that hash no request
	rep      *report.Report
}

// Attachment is what became of one target of a policy.
type Attachment struct {
	Policy *Policy
	Target object.TargetRef
	// Path is where the policy names the target, such as spec.targetRefs[0].
	Path string
	// Reason and Message say why the policy has no effect there; empty if it has.
	Reason, Message string
}

// New reads the policies. Targets that are not there, entries that don't count and policies that lose to others go
// to the report.
func New(objects *resource.Objects, rep *report.Report) *Policies {
	if len(objects.LoadBalancers) == 0 {
		return NewPart(objects, Targets{}, rep)
	}
	targets := listTargets(objects)
	return NewPart(objects, Targets{func(t object.TargetRef) bool { return targets[t] }, objects.Absence}, rep)
}

// Targets tells which Services, routes and rules are there, and why an object is not.
type Targets struct {
	Has     func(object.TargetRef) bool
	Absence func(object.Ref) string
}

// NewPart is New where something else has the targets.
func NewPart(objects *resource.Objects, targets Targets, rep *report.Report) *Policies {
	p := &Policies{
		byTarget: map[object.TargetRef][]*Policy{}, inline: map[inlineKey]*Policy{}, unhashed: map[object.Ref]ir.Balancing{},
		rep: rep,
	}
	for _, o := range objects.HostRoutes {
		p.readInline(o)
	}
	for _, o := range objects.AuthServices {
		p.readUnhashed(o, o.Value.Balancing())
	}
	for i, o := range objects.LoadBalancers {
		read := readPolicy(o.String(), o, field.NewPath("spec"), &o.Value.Spec, rep)
		read.Object, read.rank = o.Ref(), i
		read.readHosts(&o.Value.Spec, rep)
		for r, target := range resource.LoadBalancerTargets(o) {
			p.attachPolicy(read, o, r, target, targets)
		}
	}
	return p
}

// readInline reads the policies that stand in a route's rules. One holds for all of its rule, so it meets no other
// policy there, and its rank does not matter.
func (p *Policies) readInline(o *resource.Object[gatewayv1.HTTPRoute]) {
	var before []*Policy
	for i, rule := range o.RuleExtras {
		switch {
		case rule.Balancing == nil:
		case resource.IsStreamRoute(o.Value.Kind):
			p.readUnhashed(o, rule.Balancing)
		default:
			read := p.readRule(o, i, rule.Balancing, before)
			p.inline[inlineKey{o.Kind, o.Key(), i}] = read
			before = append(before, read)
		}
	}
}

// readRule reads the policy of a rule. Hosts from which rules expect the same are one cluster's.
func (p *Policies) readRule(
	o *resource.Object[gatewayv1.HTTPRoute],
	i int,
	b *foreign.Balancing,
	before []*Policy,
) *Policy {
	read := readPolicy(o.String(), o, b.At, &b.LoadBalancerPolicySpec, p.rep)
	read.Object, read.checkPath, read.slowStartPath = o.Ref(), b.HealthCheckAt, b.SlowStartAt
	read.readHosts(&b.LoadBalancerPolicySpec, p.rep)
	read.variant = fmt.Sprintf("%s/%s/%d", o.Kind, o.Key(), i)
	for _, other := range before {
		if other.hosts.Equal(read.hosts) {
			read.variant = other.variant
			break
		}
	}
	return read
}

// listTargets lists everything that a policy may attach to.
func listTargets(objects *resource.Objects) map[object.TargetRef]bool {
	there := map[object.TargetRef]bool{}
	for _, s := range objects.Services {
		there[object.TargetRef{Ref: s.Ref()}] = true
		for _, port := range s.Value.Spec.Ports {
			if port.Name != "" {
				there[object.TargetRef{Ref: s.Ref(), Section: port.Name}] = true
			}
		}
	}
	for _, r := range objects.Routes {
		there[object.TargetRef{Ref: r.Ref()}] = true
		for _, rule := range r.Value.Spec.Rules {
			if rule.Name != nil {
				there[object.TargetRef{Ref: r.Ref(), Section: string(*rule.Name)}] = true
			}
		}
	}
	return there
}

// attachPolicy notes a policy for one of its targets, in the policy's own namespace (S3). The first one there holds
// whole, for policies come by age (S53).
func (p *Policies) attachPolicy(
	attached *Policy,
	o *resource.Object[v1alpha1.LoadBalancerPolicy],
	index int,
	t object.TargetRef,
	targets Targets,
) {
	path := field.NewPath("spec", "targetRefs").Index(index)
	a := Attachment{Policy: attached, Target: t, Path: path.String()}
	switch {
	case !o.Value.Spec.TargetRefs[index].IsIn(o.Namespace):
		a.Reason, a.Message = report.ReasonInvalid, "policies attach to objects of their own namespace, "+o.Namespace+", only"
		p.rep.WarnForAt(report.BalancingNotHonoured, o, a.Reason, a.Path, a.Message)
	case !targets.Has(object.TargetRef{Ref: t.Ref}):
		a.reportMissing(p.rep, path.Child("name"), t.Name, targets.Absence(t.Ref))
	case !targets.Has(t):
		a.reportMissing(p.rep, path.Child("sectionName"), t.Section, resource.SectionAbsence(t))
	case len(p.byTarget[t]) > 0:
		a.Reason, a.Message = report.ReasonConflicted, p.byTarget[t][0].Name+", which goes first, has this target: the "+
			"policy has no effect on it"
		p.rep.WarnForAt(report.BalancingNotHonoured, o, a.Reason, a.Path, a.Message)
		p.byTarget[t] = append(p.byTarget[t], attached)
	default:
		p.byTarget[t] = append(p.byTarget[t], attached)
	}
	p.Attachments = append(p.Attachments, a)
}

func (a *Attachment) reportMissing(rep *report.Report, path *field.Path, value, why string) {
	e := field.NotFound(path, value)
	e.Detail = why + ": the policy has no effect there"
	a.Reason, a.Message = report.ReasonTargetNotFound, e.ErrorBody()
	rep.WarnFor(report.TargetNotFound, a.Policy.subject, report.ReasonTargetNotFound, e)
}
