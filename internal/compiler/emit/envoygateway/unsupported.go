package envoygateway

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// refuseOwnOutput refuses routes that limpet wrote: what they were made from is not in them.
func (e *emitter) refuseOwnOutput() {
	for _, route := range e.Objects.Routes {
		for path, s := range route.Sessions {
			if name := s.Settings.SessionName; name != nil && string(*name) == e.PinHeader {
				e.rep.Error(route, field.Invalid(field.NewPath(path), e.PinHeader,
					"is the internal header of a route that limpet wrote; compile the route that it came from"))
			}
		}
	}
}

// reportUnsupported reports what Envoy Gateway has no counterpart for, or one of its own that limpet does not write.
func (e *emitter) reportUnsupported() {
	for _, route := range e.Objects.Routes {
		for i, rule := range route.Value.Spec.Rules {
			for n, ref := range rule.BackendRefs {
				if ref.Kind != nil && *ref.Kind == "XBackend" {
					e.rep.NotSupportedBy(route, targetName, fmt.Sprintf("spec.rules[%d].backendRefs[%d].kind", i, n),
						"Envoy Gateway does not know XBackend: its share of the traffic gets 500")
				}
			}
		}
	}
	for _, p := range e.Objects.LoadBalancers {
		e.rep.NotSupportedBy(p, targetName, "spec", fmt.Sprintf("write a BackendTrafficPolicy for %s", extractSpec(p.JSON)))
	}
	for _, p := range e.Objects.TrafficPolicies {
		if p.Value.Spec.RetryConstraint != nil {
			e.rep.NotSupportedBy(p, targetName, "spec.retryConstraint", fmt.Sprintf("write a BackendTrafficPolicy for %s", extractSpec(p.JSON)))
		}
	}
	for _, p := range e.Objects.Proxies {
		e.rep.NotSupportedBy(p, targetName, "kind", "Envoy Gateway does not know HTTPProxy")
	}
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
