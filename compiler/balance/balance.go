// Package balance decides how requests that no session pins are spread over a backend's hosts: it reads
// LoadBalancerPolicies and finds the one that holds for each rule and Service (docs/semantics.md, S51 to S55).
package balance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/compiler/gateway"
	"github.com/limpet-proxy/limpet/compiler/ir"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/compiler/schema"
)

// The reasons of status conditions for what a policy can't have (S3, S52, S53).
const (
	reasonConflicted = "Conflicted"
	reasonNotFound   = "TargetNotFound"
	reasonPartial    = "PartiallyProgrammed"
)

// Policy is one author's word on balancing.
type Policy struct {
	// Name is how other authors read of it, such as "LoadBalancerPolicy shop/cart".
	Name string

	about    report.Subject
	at       *field.Path // of the strategy and the hash policies
	strategy ir.Balancing
	hashes   []hash
	rank     int // the older has the lower one
}

// target is what a policy attaches to; rule is the name of one, else empty.
type target struct{ kind, key, rule string }

// inline is the place of a policy that stands in a rule, by the rule's index.
type inline struct {
	kind, key string
	rule      int
}

// Policies are all LoadBalancerPolicies, by what they attach to.
type Policies struct {
	held   map[target]*Policy
	inline map[inline]*Policy
	rep    *report.Report
}

// New reads the policies. Targets that are not there, entries that don't count and policies that lose to others go
// to the report.
func New(objects *schema.Objects, rep *report.Report) *Policies {
	p := &Policies{held: map[target]*Policy{}, inline: map[inline]*Policy{}, rep: rep}
	for _, o := range objects.Proxies {
		p.readProxy(o)
	}
	if len(objects.LoadBalancers) == 0 {
		return p
	}
	there := targetsOf(objects)
	for i, o := range objects.LoadBalancers {
		policy := read(o.String(), o, field.NewPath("spec"), &o.Value.Spec, rep)
		policy.rank = i
		for r, ref := range o.Value.Spec.TargetRefs {
			p.attach(policy, o, r, ref, there)
		}
	}
	return p
}

// readProxy reads the policies of an HTTPProxy's routes. What is in a route holds for all of it, so it meets no other
// policy there, and its rank does not matter.
func (p *Policies) readProxy(o *schema.Object[schema.HTTPProxy]) {
	for i, r := range o.Value.Spec.Routes {
		if r.LoadBalancerPolicy == nil {
			continue
		}
		spec := v1alpha1.LoadBalancerPolicySpec{
			Strategy: r.LoadBalancerPolicy.Strategy, RequestHashPolicies: r.LoadBalancerPolicy.RequestHashPolicies,
		}
		at := field.NewPath("spec", "routes").Index(i).Child("loadBalancerPolicy")
		p.inline[inline{o.Kind, o.Key(), i}] = read(o.String(), o, at, &spec, p.rep)
	}
}

// targetsOf lists everything that a policy may attach to.
func targetsOf(objects *schema.Objects) map[target]bool {
	there := map[target]bool{}
	for _, s := range objects.Services {
		there[target{"Service", s.Key(), ""}] = true
	}
	for _, r := range objects.Routes {
		there[target{r.Kind, r.Key(), ""}] = true
		for _, rule := range r.Value.Spec.Rules {
			if rule.Name != nil {
				there[target{r.Kind, r.Key(), string(*rule.Name)}] = true
			}
		}
	}
	return there
}

// attach notes a policy for one of its targets, in the policy's own namespace (S3). The first one there holds
// whole, for policies come by age (S53).
func (p *Policies) attach(policy *Policy, o *schema.Object[v1alpha1.LoadBalancerPolicy], index int,
	ref gatewayv1.LocalPolicyTargetReferenceWithSectionName, there map[target]bool,
) {
	path := field.NewPath("spec", "targetRefs").Index(index)
	t := target{kind: string(ref.Kind), key: o.Namespace + "/" + string(ref.Name)}
	if ref.SectionName != nil {
		t.rule = string(*ref.SectionName)
	}
	winner := p.held[t]
	switch {
	case !there[target{t.kind, t.key, ""}]:
		p.missing(o, path.Child("name"), string(ref.Name), fmt.Sprintf("there is no %s %s in the input", t.kind, t.key))
	case !there[t]:
		p.missing(o, path.Child("sectionName"), t.rule, fmt.Sprintf("%s %s has no rule of this name", t.kind, t.key))
	case winner != nil:
		p.rep.WarnForAt(o, reasonConflicted, path.String(),
			winner.Name+", which goes first, has this target: the policy has no effect on it")
	default:
		p.held[t] = policy
	}
}

func (p *Policies) missing(o report.Subject, path *field.Path, value, why string) {
	e := field.NotFound(path, value)
	e.Detail = why + ": the policy has no effect there"
	p.rep.WarnFor(o, reasonNotFound, e)
}

// ForRule gives the policy that stands in a rule, is attached to it or else to its route; nil if there is none.
func (p *Policies) ForRule(route *gateway.Route, rule int) *Policy {
	if policy := p.inline[inline{route.Kind, route.Key(), rule}]; policy != nil {
		return policy
	}
	if name := route.Value.Spec.Rules[rule].Name; name != nil {
		if policy := p.held[target{route.Kind, route.Key(), string(*name)}]; policy != nil {
			return policy
		}
	}
	return p.held[target{route.Kind, route.Key(), ""}]
}

// ForService gives the policy that is attached to a Service, by its namespace/name; nil if there is none.
func (p *Policies) ForService(key string) *Policy { return p.held[target{"Service", key, ""}] }
