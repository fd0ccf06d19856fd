package contourapi

import (
	"cmp"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/duration"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// SlowStartPolicy gives a host of a service that is new few requests at first.
type SlowStartPolicy struct {
	Window string `json:"window"`
	// Aggression says how the share grows: 1, and nothing, evenly.
	Aggression string `json:"aggression"`
	// MinWeightPercent is what a host begins with; nil has Contour's default, which is limpet's too.
	MinWeightPercent *int32 `json:"minWeightPercent"`
}

func slowStartFields() support.Fields {
	return support.Under("services[].slowStartPolicy", support.All("window", "aggression", "minWeightPercent"))
}

// longestSlowStart is a LoadBalancerPolicy's limit.
const longestSlowStart = 24 * time.Hour

func (p *SlowStartPolicy) validate(path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if d, err := duration.Parse(p.Window); err != nil {
		errs = append(errs, field.Invalid(path.Child("window"), p.Window, err.Error()))
	} else if d < time.Second || d > longestSlowStart || d%time.Second != 0 {
		errs = append(errs, support.Lacking(field.Invalid(path.Child("window"), p.Window,
			"not supported: must be between 1s and 24h, in whole seconds")))
	}
	if n, err := strconv.ParseFloat(cmp.Or(p.Aggression, "1"), 64); err != nil || n != 1 {
		errs = append(errs, support.Lacking(field.Invalid(path.Child("aggression"), p.Aggression,
			"not supported: a LoadBalancerPolicy's share grows evenly, as with 1")))
	}
	if w := p.MinWeightPercent; w != nil && (*w < 1 || *w > allPercent) {
		errs = append(
			errs,
			field.Invalid(
				path.Child("minWeightPercent"),
				*w,
				"must be between 1 and 100: a host with 0 may never get a request",
			),
		)
	}
	return errs
}

// equals reports whether two policies, nil or not, ask for the same.
func (p *SlowStartPolicy) equals(o *SlowStartPolicy) bool {
	if p == nil || o == nil {
		return p == o
	}
	return p.Window == o.Window && (p.MinWeightPercent == nil) == (o.MinWeightPercent == nil) &&
		(p.MinWeightPercent == nil || *p.MinWeightPercent == *o.MinWeightPercent)
}

// validateSlowStarts wants one policy for all services of a route, which share one LoadBalancerPolicy. A mirror has
// none.
func validateSlowStarts(path *field.Path, services []HTTPProxyService) field.ErrorList {
	var errs field.ErrorList
	served, mirror := listServed(services)
	if mirror >= 0 && services[mirror].SlowStart != nil {
		errs = append(
			errs,
			support.Lacking(field.Forbidden(path.Index(mirror).Child("slowStartPolicy"), "not supported for a mirror")),
		)
	}
	for _, i := range served {
		at := path.Index(i).Child("slowStartPolicy")
		errs = append(errs, services[i].SlowStart.validate(at)...)
		if !services[i].SlowStart.equals(services[served[0]].SlowStart) {
			errs = append(errs, support.Lacking(field.Forbidden(at,
				"not supported: another than that of the route's first service; give it a route of its own")))
		}
	}
	return errs
}

// slowStart gives the policy of the route's services as that of a LoadBalancerPolicy, and which service has it; nil for
// none.
func (r *HTTPProxyRoute) slowStart() (policy *v1alpha1.SlowStart, service int) {
	served, _ := listServed(r.Services)
	if len(served) == 0 || r.Services[served[0]].SlowStart == nil {
		return nil, 0
	}
	p := r.Services[served[0]].SlowStart
	return &v1alpha1.SlowStart{Window: v1alpha1.Duration(p.Window), MinWeightPercent: p.MinWeightPercent}, served[0]
}
