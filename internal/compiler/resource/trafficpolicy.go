package resource

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var trafficPolicyKind = newKind(definition[gatewayxv1alpha1.XBackendTrafficPolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  gatewayxv1alpha1.GroupName, kind: object.KindTrafficPolicy, versions: []string{"v1alpha1"},
	fields: trafficFields, sessionPath: "spec." + sessionKey, checkUnverified: checkTrafficPolicy,
	list: func(o *Objects) *[]*Object[gatewayxv1alpha1.XBackendTrafficPolicy] { return &o.TrafficPolicies },
})

func trafficFields() support.Fields {
	return support.Join(
		support.Under("spec.targetRefs[]", support.All("group", "kind", "name")),
		support.Under(
			"spec.retryConstraint",
			support.All("budget.percent", "budget.interval", "minRetryRate.count", "minRetryRate.interval"),
		),
		support.Under("spec."+sessionKey, support.Join(sessionFields16(), sessionFields17())),
	)
}

// checkTrafficPolicy checks what the compiler relies on in a policy that is said to be admitted.
func checkTrafficPolicy(p *gatewayxv1alpha1.XBackendTrafficPolicy) field.ErrorList {
	return checkRetryConstraint(field.NewPath("spec", "retryConstraint"), p.Spec.RetryConstraint)
}

// checkRetryConstraint checks a retry budget by the bounds of its CRD.
func checkRetryConstraint(path *field.Path, c *gatewayxv1alpha1.RetryConstraint) (errs field.ErrorList) {
	if c == nil {
		return nil
	}
	if b := c.Budget; b != nil {
		if b.Percent != nil {
			errs = append(errs, checkRange(path.Child("budget", "percent"), *b.Percent, 0, 100)...)
		}
		errs = append(errs, checkRetryInterval(path.Child("budget", "interval"), b.Interval)...)
	}
	if r := c.MinRetryRate; r != nil {
		if r.Count != nil {
			errs = append(errs, checkRange(path.Child("minRetryRate", "count"), *r.Count, 1, 1_000_000)...)
		}
		errs = append(errs, checkRetryInterval(path.Child("minRetryRate", "interval"), r.Interval)...)
	}
	return errs
}

// checkRetryInterval is a time of more than nothing, and an hour at most.
func checkRetryInterval(path *field.Path, text *gatewayv1.Duration) field.ErrorList {
	if text == nil {
		return nil
	}
	if d, err := duration.Parse(string(*text)); err != nil || d <= 0 || d > time.Hour {
		return field.ErrorList{field.Invalid(path, *text, "must be a duration of one hour at most")}
	}
	return nil
}
