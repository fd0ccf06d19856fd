package envoygateway

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// refuseOwnOutput refuses routes that limpet wrote: what they were made from is not in them.
func (e *emitter) refuseOwnOutput() {
	for _, route := range e.plan.Routes {
		e.refuseMarked(route)
		for _, s := range route.InlineSessions {
			if s.SessionName == pinHeader {
				e.rep.FailAt(route.Subject, s.Path, field.Invalid(field.NewPath(s.Path), pinHeader,
					"is the internal header of a route that limpet wrote; compile the route that it came from").ErrorBody())
			}
		}
	}
}

// reportUnsupported reports what Envoy Gateway has no counterpart for, or one of its own that limpet does not write.
func (e *emitter) reportUnsupported() {
	for _, route := range e.plan.Routes {
		for i, rule := range route.Rules {
			for n, ref := range rule.Backends {
				if ref.Kind == object.KindXBackend {
					e.rep.NotSupportedBy(route.Subject, targetName, fmt.Sprintf("spec.rules[%d].backendRefs[%d].kind", i, n),
						"Envoy Gateway does not know XBackend: its share of the traffic gets 500")
				}
			}
		}
	}
	for _, p := range e.plan.Objects[object.KindLoadBalancer] {
		e.rep.NotSupportedBy(p.Subject, targetName, "spec",
			fmt.Sprintf("write a BackendTrafficPolicy for %s", extractSpec(p.JSON)))
	}
	for _, p := range e.plan.Objects[object.KindTrafficPolicy] {
		if spec := extractSpec(p.JSON); capsRetries(spec) {
			e.rep.NotSupportedBy(p.Subject, targetName, "spec.retryConstraint",
				fmt.Sprintf("write a BackendTrafficPolicy for %s", spec))
		}
	}
	for _, p := range e.plan.Objects[object.KindHTTPProxy] {
		e.rep.NotSupportedBy(p.Subject, targetName, "kind", "Envoy Gateway does not know HTTPProxy")
	}
}

// capsRetries reports whether an XBackendTrafficPolicy's spec has a retry budget.
func capsRetries(spec string) bool {
	var o struct {
		RetryConstraint any `json:"retryConstraint"`
	}
	return json.Unmarshal([]byte(spec), &o) == nil && o.RetryConstraint != nil
}

// extractSpec is an object's spec on one line.
func extractSpec(written []byte) string {
	var o struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(written, &o) != nil {
		return ""
	}
	return string(o.Spec)
}
