// Package retrybudget reads the retry budgets of XBackendTrafficPolicies (GEP-3388; docs/semantics.md, S56 to S58).
package retrybudget

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// The CRD's defaults. It gives minRetryRate whole where it is absent, so what is left out of one that is there has
// no default of the CRD's; these hold then too (S57).
const (
	defaultPercent  = 20
	defaultInterval = 10 * time.Second
	defaultCount    = 10
	rateInterval    = time.Second // the only one that a number of retries at once stands for
)

type trafficPolicy = resource.Object[gatewayxv1alpha1.XBackendTrafficPolicy]

// Budgets are the retry budgets of Services.
type Budgets struct {
	byService map[string]*EffectiveBudget // by the Service's namespace/name
	targets   map[string][]policyTarget   // by age
}

// EffectiveBudget is what policies come to for a Service.
type EffectiveBudget struct {
	// Budget is the retry budget; nil if the policy that holds has none.
	Budget *ir.RetryBudget
	// Policy is the one that holds whole, and Fields are what it writes, or leaves to the CRD.
	Policy object.Ref
	Fields []Field
	// Overridden are the policies that lose to it and have a retry budget, the strongest first.
	Overridden []Overridden
}

// Overridden is a policy without effect on a Service.
type Overridden struct {
	Policy object.Ref
	Fields []Field
}

// Field is a field of a retryConstraint.
type Field struct {
	// Path leads to it in the policy; Value is its text.
	Path, Value string
	// Default says that the value is the CRD's default, which no author wrote (S8, S58).
	Default bool
}

// New reads the policies. What can't be supported exactly, targets that are not there, and policies that lose to
// others go to the report.
func New(objects *resource.Objects, rep *report.Report) *Budgets {
	services := map[string]bool{}
	if len(objects.TrafficPolicies) > 0 {
		for _, s := range objects.Services {
			services[s.Key()] = true
		}
	}
	return NewPart(objects, func(key string) bool { return services[key] }, rep)
}

// NewPart is New where something else tells which Services are there, by namespace/name.
func NewPart(objects *resource.Objects, hasService func(key string) bool, rep *report.Report) *Budgets {
	b := &Budgets{byService: map[string]*EffectiveBudget{}, targets: map[string][]policyTarget{}}
	for _, o := range objects.TrafficPolicies {
		for i, ref := range o.Value.Spec.TargetRefs {
			key := o.Namespace + "/" + string(ref.Name)
			fault := checkTarget(field.NewPath("spec", "targetRefs").Index(i), ref, key, hasService)
			if fault == nil {
				b.targets[key] = append(b.targets[key], policyTarget{o, i})
			} else if o.Value.Spec.RetryConstraint != nil && len(o.Sessions) == 0 { // else package policy says it
				rep.WarnFor(report.RetryNotHonoured, o, conditionReason(fault), fault)
			}
		}
	}
	b.resolve(rep)
	return b
}

func conditionReason(fault *field.Error) string {
	if fault.Type == field.ErrorTypeNotFound {
		return report.ReasonTargetNotFound
	}
	return report.ReasonPartiallyProgrammed // an XBackend may have sessions by the same policy
}

// policyTarget is one target of a policy.
type policyTarget struct {
	policy *trafficPolicy
	index  int
}

// resolve lets the first policy on each Service hold whole (S14): also one without retryConstraint keeps others off.
func (b *Budgets) resolve(rep *report.Report) {
	read := map[*trafficPolicy]*ir.RetryBudget{}
	for _, key := range slices.Sorted(maps.Keys(b.targets)) {
		first := b.targets[key][0].policy
		effective := &EffectiveBudget{Policy: first.Ref(), Fields: listFields(first)}
		if first.Value.Spec.RetryConstraint != nil {
			if read[first] == nil {
				read[first] = readBudget(first, rep)
			}
			effective.Budget = read[first]
		}
		for _, t := range b.targets[key][1:] {
			if t.policy.Value.Spec.RetryConstraint != nil {
				rep.WarnForAt(
					report.PolicyConflict,
					t.policy,
					report.ReasonConflicted,
					field.NewPath("spec", "targetRefs").Index(t.index).String(),
					first.String()+", which goes first, has this target: the retry budget has no effect on it",
				)
				effective.Overridden = append(
					effective.Overridden,
					Overridden{Policy: t.policy.Ref(), Fields: listFields(t.policy)},
				)
			}
		}
		b.byService[key] = effective
	}
}

// listFields lists what a policy says of its budget.
func listFields(o *trafficPolicy) []Field {
	budget := field.NewPath("spec", "retryConstraint", "budget")
	rate := field.NewPath("spec", "retryConstraint", "minRetryRate")
	constraint := o.Value.Spec.RetryConstraint
	if constraint == nil {
		return nil
	}
	all := []Field{
		{budget.Child("percent").String(), strconv.Itoa(defaultPercent), true},
		{budget.Child("interval").String(), defaultInterval.String(), true},
		{rate.Child("count").String(), strconv.Itoa(defaultCount), true},
	}
	if b := constraint.Budget; b != nil && b.Percent != nil {
		all[0].Value, all[0].Default = strconv.Itoa(*b.Percent), *b.Percent == defaultPercent
	}
	if b := constraint.Budget; b != nil && b.Interval != nil {
		all[1].Value, all[1].Default = string(*b.Interval), parseDuration(*b.Interval) == defaultInterval
	}
	if r := constraint.MinRetryRate; r != nil && r.Count != nil {
		all[2].Value, all[2].Default = strconv.Itoa(*r.Count), *r.Count == defaultCount
	}
	return all
}

// For gives what holds for a Service; nil if no policy is attached to it.
func (b *Budgets) For(service string) *EffectiveBudget { return b.byService[service] }

// checkTarget says why a target can have no budget.
func checkTarget(
	path *field.Path,
	ref gatewayxv1alpha1.LocalPolicyTargetReference,
	key string,
	hasService func(string) bool,
) *field.Error {
	switch {
	case ref.Group != "" || ref.Kind != "Service":
		e := field.NotSupported(path.Child("kind"), ref.Kind, []gatewayv1.Kind{"Service"})
		e.Detail += ": the retry budget has no effect there"
		return e
	case !hasService(key):
		e := field.NotFound(path.Child("name"), string(ref.Name))
		e.Detail = "there is no Service " + key + " in the input: the retry budget has no effect there"
		return e
	default:
		return nil
	}
}

// readBudget reads a constraint that is there.
func readBudget(o *trafficPolicy, rep *report.Report) *ir.RetryBudget {
	constraint := o.Value.Spec.RetryConstraint
	budget := &ir.RetryBudget{Percent: defaultPercent, Interval: defaultInterval, MinConcurrency: defaultCount}
	if b := constraint.Budget; b != nil {
		if b.Percent != nil {
			budget.Percent = *b.Percent
		}
		if b.Interval != nil {
			budget.Interval = parseDuration(*b.Interval)
		}
	}
	path := field.NewPath("spec", "retryConstraint", "minRetryRate")
	rep.AdviseFor(report.RetryAdvice, o, report.ReasonPartiallyProgrammed, "spec.retryConstraint",
		"beyond it a request is not tried again, as asked; "+
			"its client gets what the last host has answered, where Gateway API wants 503, and 503 only if no host has")
	rate := constraint.MinRetryRate
	if rate == nil {
		return budget
	}
	if rate.Count != nil {
		budget.MinConcurrency = *rate.Count
	} else {
		rep.Advise(report.RetryAdvice, o, path.Child("count"), "left out, where the CRD has no default: 10 holds")
	}
	if rate.Interval != nil && parseDuration(*rate.Interval) != rateInterval {
		rep.WarnForAt(
			report.RetryNotHonoured,
			o,
			report.ReasonPartiallyProgrammed,
			path.Child("interval").String(),
			"not supported: Envoy lets count retries be under way at once, whatever the time, which is nearest to an interval "+
				"of 1s",
		)
	}
	return budget
}

// parseDuration reads what the CRD's pattern has let through.
func parseDuration(text gatewayv1.Duration) time.Duration {
	d, err := duration.Parse(string(text))
	if err != nil {
		return defaultInterval
	}
	return d
}
