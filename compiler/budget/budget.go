// Package budget reads the retry budgets of XBackendTrafficPolicies (GEP-3388; docs/semantics.md, S56 to S58).
package budget

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/ir"
	"github.com/limpet-proxy/limpet/compiler/report"
	"github.com/limpet-proxy/limpet/compiler/schema"
)

// The CRD's defaults. It gives minRetryRate whole where it is absent, so what is left out of one that is there has
// no default of the CRD's; these hold then too (S57).
const (
	defaultPercent  = 20
	defaultInterval = 10 * time.Second
	defaultCount    = 10
	rateInterval    = time.Second // the only one that a number of retries at once stands for
)

// The reasons of status conditions for what a policy can't have (S3, S14, S57).
const (
	reasonConflicted = "Conflicted"
	reasonNotFound   = "TargetNotFound"
	reasonPartial    = "PartiallyProgrammed"
)

type policy = schema.Object[gatewayxv1alpha1.XBackendTrafficPolicy]

// Budgets are the retry budgets of Services, by namespace/name.
type Budgets struct {
	held map[string]*ir.RetryBudget
}

// New reads the policies. What can't be carried exactly, targets that are not there, and policies that lose to
// others go to the report.
func New(objects *schema.Objects, rep *report.Report) *Budgets {
	b := &Budgets{held: map[string]*ir.RetryBudget{}}
	services := map[string]bool{}
	for _, s := range objects.Services {
		services[s.Key()] = true
	}
	taken := map[string]*policy{}
	for _, o := range objects.TrafficPolicies {
		if o.Value.Spec.RetryConstraint == nil {
			continue
		}
		constraint := budgetOf(o, rep)
		for i, ref := range o.Value.Spec.TargetRefs {
			key := o.Namespace + "/" + string(ref.Name)
			path := field.NewPath("spec", "targetRefs").Index(i)
			switch winner := taken[key]; {
			case ref.Group != "" || ref.Kind != "Service":
				rep.WarnFor(o, reasonPartial, notService(path, ref))
			case !services[key]:
				rep.WarnFor(o, reasonNotFound, notFound(path, ref, key))
			case winner != nil:
				rep.WarnForAt(o, reasonConflicted, path.String(), winner.String()+", which goes first, has this target: the policy has no effect on it")
			default:
				taken[key], b.held[key] = o, constraint
			}
		}
	}
	return b
}

// For gives a Service's budget; nil if it has none.
func (b *Budgets) For(service string) *ir.RetryBudget { return b.held[service] }

func notService(path *field.Path, ref gatewayxv1alpha1.LocalPolicyTargetReference) *field.Error {
	e := field.NotSupported(path.Child("kind"), ref.Kind, []gatewayv1.Kind{"Service"})
	e.Detail += ": the retry budget has no effect there"
	return e
}

func notFound(path *field.Path, ref gatewayxv1alpha1.LocalPolicyTargetReference, key string) *field.Error {
	e := field.NotFound(path.Child("name"), string(ref.Name))
	e.Detail = "there is no Service " + key + " in the input: the policy has no effect there"
	return e
}

// budgetOf reads a constraint that is there.
func budgetOf(o *policy, rep *report.Report) *ir.RetryBudget {
	constraint := o.Value.Spec.RetryConstraint
	budget := &ir.RetryBudget{Percent: defaultPercent, Interval: defaultInterval, AtLeast: defaultCount}
	if b := constraint.Budget; b != nil {
		if b.Percent != nil {
			budget.Percent = *b.Percent
		}
		if b.Interval != nil {
			budget.Interval = duration(*b.Interval)
		}
	}
	path := field.NewPath("spec", "retryConstraint", "minRetryRate")
	rate := constraint.MinRetryRate
	if rate == nil {
		return budget
	}
	if rate.Count != nil {
		budget.AtLeast = *rate.Count
	} else {
		rep.Advise(o, path.Child("count"), "left out, where the CRD has no default: 10 holds")
	}
	if rate.Interval != nil && duration(*rate.Interval) != rateInterval {
		rep.WarnForAt(o, reasonPartial, path.Child("interval").String(),
			"not carried: Envoy lets count retries be under way at once, whatever the time, which is nearest to an interval of 1s")
	}
	return budget
}

// duration reads what the CRD's pattern has let through, which Go reads too.
func duration(text gatewayv1.Duration) time.Duration {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return defaultInterval
	}
	return d
}
