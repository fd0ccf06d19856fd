package contourapi

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// HTTPHealthCheckPolicy asks the hosts of a route's services whether they can serve. What is 0 has Contour's default.
type HTTPHealthCheckPolicy struct {
	Path                    string `json:"path"`
	Host                    string `json:"host"`
	IntervalSeconds         int64  `json:"intervalSeconds"`
	TimeoutSeconds          int64  `json:"timeoutSeconds"`
	UnhealthyThresholdCount int64  `json:"unhealthyThresholdCount"`
	HealthyThresholdCount   int64  `json:"healthyThresholdCount"`
}

func healthCheckFields() support.Fields {
	return support.Under("healthCheckPolicy", support.All("path", "host", "intervalSeconds", "timeoutSeconds",
		"unhealthyThresholdCount", "healthyThresholdCount"))
}

// Contour's defaults.
const (
	contourCheckHost     = "contour-envoy-healthcheck"
	contourCheckInterval = 5
	contourCheckTimeout  = 2
	contourUnhealthy     = 3
	contourHealthy       = 2
)

func (c *HTTPHealthCheckPolicy) validate(path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	if !strings.HasPrefix(c.Path, "/") || strings.ContainsFunc(c.Path, isNoPathCharacter) {
		errs = append(
			errs,
			field.Invalid(path.Child("path"), c.Path, `must begin with "/", and have no space or control character`),
		)
	}
	if strings.ContainsFunc(c.Host, isNoPathCharacter) {
		errs = append(errs, field.Invalid(path.Child("host"), c.Host, "must have no space or control character"))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"intervalSeconds", c.IntervalSeconds},
		{"timeoutSeconds", c.TimeoutSeconds},
		{"unhealthyThresholdCount", c.UnhealthyThresholdCount},
		{"healthyThresholdCount", c.HealthyThresholdCount},
	} {
		if n.value < 0 || n.value > math.MaxInt16 {
			errs = append(
				errs,
				field.Invalid(path.Child(n.name), n.value, fmt.Sprintf("must be between 0 and %d", math.MaxInt16)),
			)
		}
	}
	return errs
}

// isNoPathCharacter reports what no request line and no header has unescaped.
func isNoPathCharacter(r rune) bool { return r <= ' ' || r > '~' }

// HealthCheck gives the policy as that of a LoadBalancerPolicy; nil for none.
func (c *HTTPHealthCheckPolicy) convert() *v1alpha1.HealthCheck {
	if c == nil {
		return nil
	}
	seconds := func(n, otherwise int64) *v1alpha1.Duration {
		d := v1alpha1.Duration(fmt.Sprintf("%ds", cmp.Or(n, otherwise)))
		return &d
	}
	count := func(n, otherwise int64) *int32 {
		number := int32(cmp.Or(n, otherwise)) // checked
		return &number
	}
	path, host := c.Path, cmp.Or(c.Host, contourCheckHost)
	return &v1alpha1.HealthCheck{
		HTTP:     &v1alpha1.HTTPHealthCheck{Path: &path, Hostname: &host},
		Interval: seconds(c.IntervalSeconds, contourCheckInterval), Timeout: seconds(c.TimeoutSeconds, contourCheckTimeout),
		UnhealthyThreshold: count(c.UnhealthyThresholdCount, contourUnhealthy),
		HealthyThreshold:   count(c.HealthyThresholdCount, contourHealthy),
	}
}
