package resource

import (
	"fmt"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// checkUnverified checks what the compiler relies on in documents that are said to be admitted, whatever else is in them: the
// names that identities are made of, and numbers that are put into narrower types or that Envoy bounds.
func checkUnverified(value any, meta *metav1.ObjectMeta) field.ErrorList {
	errs := checkNames(meta)
	spec := field.NewPath("spec")
	switch o := value.(type) {
	case *gatewayv1.Gateway:
		for i, l := range o.Spec.Listeners {
			errs = append(errs, checkRange(spec.Child("listeners").Index(i).Child("port"), l.Port, 1, 65535)...)
		}
	case *gatewayv1.HTTPRoute:
		for i, r := range o.Spec.Rules {
			for j, ref := range r.BackendRefs {
				errs = append(errs, checkWeight(spec.Child("rules").Index(i).Child("backendRefs").Index(j), ref.Weight)...)
			}
			errs = append(errs, checkTimeoutsAndRetry(spec.Child("rules").Index(i), &o.Spec.Rules[i])...)
		}
	case *gatewayv1.GRPCRoute:
		for i, r := range o.Spec.Rules {
			for j, ref := range r.BackendRefs {
				errs = append(errs, checkWeight(spec.Child("rules").Index(i).Child("backendRefs").Index(j), ref.Weight)...)
			}
		}
	case *XBackend:
		errs = append(errs, checkRange(spec.Child("port", "number"), o.Spec.Port.Number, 0, 65535)...)
	case *gatewayxv1alpha1.XBackendTrafficPolicy:
		errs = append(errs, checkRetryConstraint(spec.Child("retryConstraint"), o.Spec.RetryConstraint)...)
	}
	return errs
}

// checkNames checks an object's own name and namespace.
func checkNames(meta *metav1.ObjectMeta) field.ErrorList {
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if meta.Name == "" {
		return append(errs, field.Required(path.Child("name"), "every object has a name"))
	}
	if faults := apivalidation.NameIsDNSSubdomain(meta.Name, false); len(faults) > 0 {
		errs = append(errs, field.Invalid(path.Child("name"), meta.Name, strings.Join(faults, "; ")))
	}
	if faults := validation.IsDNS1123Label(meta.Namespace); meta.Namespace != "" && len(faults) > 0 {
		errs = append(errs, field.Invalid(path.Child("namespace"), meta.Namespace, strings.Join(faults, "; ")))
	}
	return errs
}

func checkRange[N ~int | ~int32](path *field.Path, n, least, most N) field.ErrorList {
	if n >= least && n <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must be between %d and %d", least, most))}
}

func checkWeight(path *field.Path, w *int32) field.ErrorList {
	if w == nil {
		return nil
	}
	return checkRange(path.Child("weight"), *w, 0, maxWeight)
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

// checkTimeoutsAndRetry checks a rule's timeouts and retry by the bounds of its CRD.
func checkTimeoutsAndRetry(path *field.Path, r *gatewayv1.HTTPRouteRule) (errs field.ErrorList) {
	if t := r.Timeouts; t != nil {
		errs = append(errs, checkDuration(path.Child("timeouts", "request"), t.Request)...)
		errs = append(errs, checkDuration(path.Child("timeouts", "backendRequest"), t.BackendRequest)...)
	}
	if r.Retry == nil {
		return errs
	}
	path = path.Child("retry")
	for i, code := range r.Retry.Codes {
		errs = append(errs, checkRange(path.Child("codes").Index(i), int(code), 400, 599)...)
	}
	if a := r.Retry.Attempts; a != nil && *a < 0 {
		errs = append(errs, field.Invalid(path.Child("attempts"), *a, "must be 0 at least"))
	}
	return append(errs, checkDuration(path.Child("backoff"), r.Retry.Backoff)...)
}

// checkDuration is one of GEP-2257: none is negative.
func checkDuration(path *field.Path, text *gatewayv1.Duration) field.ErrorList {
	if text == nil {
		return nil
	}
	if d, err := time.ParseDuration(string(*text)); err != nil || d < 0 {
		return field.ErrorList{field.Invalid(path, *text, "must be a duration")}
	}
	return nil
}

// checkRetryInterval is a time of more than nothing, and an hour at most.
func checkRetryInterval(path *field.Path, text *gatewayv1.Duration) field.ErrorList {
	if text == nil {
		return nil
	}
	if d, err := time.ParseDuration(string(*text)); err != nil || d <= 0 || d > time.Hour {
		return field.ErrorList{field.Invalid(path, *text, "must be a duration of one hour at most")}
	}
	return nil
}
