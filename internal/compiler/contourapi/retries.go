package contourapi

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HTTPProxyRetryPolicy says which requests of a route are tried again.
type HTTPProxyRetryPolicy struct {
	// Count is how often, -1 for never; 0 has Contour's default.
	Count         int64  `json:"count"`
	PerTryTimeout string `json:"perTryTimeout"`
	// RetryOn are Envoy's own conditions; empty for Contour's default.
	RetryOn              []string `json:"retryOn"`
	RetriableStatusCodes []uint32 `json:"retriableStatusCodes"`
}

// Contour's defaults.
const (
	contourRetries = 1
	contourRetryOn = "5xx"
)

// retryConditions are those that Contour's CRD admits: Envoy's, of HTTP and of gRPC.
var retryConditions = []string{
	"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited", "retriable-4xx",
	"refused-stream",
	"retriable-status-codes", "retriable-headers", "http3-post-connect-failure",
	"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
}

func retryFields() support.Fields {
	return support.Under("retryPolicy", support.All("count", "perTryTimeout", "retryOn[]", "retriableStatusCodes[]"))
}

func (p *HTTPProxyRetryPolicy) validate(path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if p.Count < -1 || p.Count > math.MaxInt32 {
		errs = append(
			errs,
			field.Invalid(path.Child("count"), p.Count, fmt.Sprintf("must be between -1 and %d", math.MaxInt32)),
		)
	}
	errs = append(errs, validateLimit(path.Child("perTryTimeout"), p.PerTryTimeout)...)
	for i, condition := range p.RetryOn {
		if !slices.Contains(retryConditions, condition) {
			errs = append(errs, field.NotSupported(path.Child("retryOn").Index(i), condition, retryConditions))
		}
	}
	for i, code := range p.RetriableStatusCodes {
		if code < 100 || code > 599 {
			errs = append(errs, field.Invalid(path.Child("retriableStatusCodes").Index(i), code, "must be between 100 and 599"))
		}
	}
	return errs
}

// conditions are those on which a request is tried again.
func (p *HTTPProxyRetryPolicy) conditions() []string {
	if len(p.RetryOn) == 0 {
		return []string{contourRetryOn}
	}
	return p.RetryOn
}

func (p *HTTPProxyRetryPolicy) toRetry() *gatewayv1.HTTPRouteRetry {
	if p == nil {
		return nil
	}
	attempts := int(p.Count) // checked
	switch p.Count {
	case -1:
		attempts = 0
	case 0:
		attempts = contourRetries
	}
	retry := &gatewayv1.HTTPRouteRetry{Attempts: &attempts}
	for _, code := range p.RetriableStatusCodes {
		retry.Codes = append(retry.Codes, gatewayv1.HTTPRouteRetryStatusCode(code))
	}
	return retry
}

// infinity is Contour's word for no limit.
const infinity = "infinity"

// validateLimit checks a duration, or what stands for none.
func validateLimit(path *field.Path, limit string) field.ErrorList {
	if limit == "" || limit == infinity {
		return nil
	}
	if _, err := duration.Parse(limit); err != nil {
		return field.ErrorList{field.Invalid(path, limit, err.Error())}
	}
	return nil
}

// toLimit gives such a duration, with 0 for none; nil where nothing is said.
func toLimit(limit string) *gatewayv1.Duration {
	if limit == "" {
		return nil
	}
	d := gatewayv1.Duration(strings.Replace(limit, infinity, "0s", 1))
	return &d
}

func (r *HTTPProxyRoute) validateTimes(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t := r.TimeoutPolicy; t != nil {
		errs = validateLimit(path.Child("timeoutPolicy", "response"), t.Response)
	}
	return append(errs, r.RetryPolicy.validate(path.Child("retryPolicy"))...)
}

func (r *HTTPProxyRoute) toTimeouts() *gatewayv1.HTTPRouteTimeouts {
	limits := gatewayv1.HTTPRouteTimeouts{}
	if r.TimeoutPolicy != nil {
		limits.Request = toLimit(r.TimeoutPolicy.Response)
	}
	if r.RetryPolicy != nil {
		limits.BackendRequest = toLimit(r.RetryPolicy.PerTryTimeout)
	}
	if limits == (gatewayv1.HTTPRouteTimeouts{}) {
		return nil
	}
	return &limits
}
