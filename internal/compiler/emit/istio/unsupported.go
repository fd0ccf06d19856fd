package istio

import (
	"encoding/json"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// reportUnsupported reports the objects that have no effect on Istio.
func (e *emitter) reportUnsupported() {
	for _, p := range e.plan.Objects[object.KindHTTPProxy] {
		e.rep.NotSupportedBy(p.Subject, Target, "", "HTTPProxy is Contour's kind")
	}
	for _, b := range e.plan.Objects[object.KindXBackend] {
		e.rep.NotSupportedBy(b.Subject, Target, "", "Istio knows no XBackend")
	}
	for _, p := range e.plan.Objects[object.KindLoadBalancer] {
		e.rep.NotSupportedBy(p.Subject, Target, "spec",
			"what spreads requests without sessions is spec.trafficPolicy.loadBalancer of a DestinationRule")
	}
	for _, p := range e.plan.Objects[object.KindTrafficPolicy] {
		if e.capsRetries(p) {
			e.rep.NotSupportedBy(p.Subject, Target, "spec.retryConstraint",
				"what caps retries is spec.trafficPolicy.connectionPool of a DestinationRule")
		}
	}
}

// capsRetries reports whether an XBackendTrafficPolicy has a retry budget.
func (e *emitter) capsRetries(p *ir.Object) bool {
	var o struct {
		Spec struct {
			RetryConstraint any `json:"retryConstraint"`
		} `json:"spec"`
	}
	e.fail(json.Unmarshal(p.JSON, &o))
	return o.Spec.RetryConstraint != nil
}
