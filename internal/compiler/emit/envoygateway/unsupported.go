package envoygateway

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// leaveOutOwnOutput gives the plan without routes that limpet wrote: what they were made from is not in them.
func leaveOutOwnOutput(plan *ir.Plan, rep *report.Report) *ir.Plan {
	own := map[object.Ref]bool{}
	for _, route := range plan.Routes {
		if at, why := findOwnMark(route); why != nil {
			own[route.Ref] = true
			rep.ErrorAt(report.InvalidField, route.Subject, at, why.ErrorBody())
		}
	}
	if len(own) == 0 {
		return plan
	}
	return plan.LeaveOut(own, "the route is one that limpet wrote, and is left out: the rule goes without sessions")
}

// findOwnMark finds what tells that limpet wrote a route, and where; nil if there is none.
func findOwnMark(route *ir.RouteObject) (path string, why *field.Error) {
	for _, s := range route.InlineSessions {
		if s.SessionName == pinHeader {
			return s.Path, field.Invalid(field.NewPath(s.Path), pinHeader,
				"is the internal header of a route that limpet wrote; compile the route that it came from")
		}
	}
	return findSessionsMark(route)
}

// findTaken gives the object of another's that a rule needs; one of a route on two Gateways is pinned on both, and has
// to be fenced on both.
func (e *emitter) findTaken(r *sessionRule) (found object.Ref, taken bool) {
	needs := []object.Ref{asOwner(r.Route.Namespace)}
	for _, a := range r.attached {
		if a.Sessions.On() {
			needs = append(needs, a.Listener.Gateway.Ref)
		}
	}
	for _, one := range needs {
		if ref, is := e.taken[one]; is && (!taken || e.plan.WroteBefore(ref)) {
			found, taken = ref, true
		}
	}
	return found, taken
}

// withoutTaken gives the plan without the sessions of rules that need what is another's, who are told. Routes that
// limpet has written for another owner are not written over.
func (e *emitter) withoutTaken(rep *report.Report) *ir.Plan {
	rep.Add(e.owners)
	bare, others := map[*ir.Rule]bool{}, map[object.Ref]bool{}
	for _, r := range e.rules {
		if ref, taken := e.findTaken(r); taken {
			e.plan.Withhold(r.attached, rep, targetName, r.path().String(), ir.WhyTaken(ref))
			bare[r.Rule] = true
			others[r.Route.Ref] = others[r.Route.Ref] || e.plan.WroteBefore(ref)
		}
	}
	without := e.plan.WithoutSessions(func(a *ir.AttachedRule) bool { return bare[a.Rule] })
	without.Routes = slices.DeleteFunc(slices.Clone(without.Routes), func(r *ir.RouteObject) bool { return others[r.Ref] })
	return without
}

// reportUnsupported reports what Envoy Gateway has no counterpart for, or one of its own that limpet does not write.
func (e *emitter) reportUnsupported() {
	for _, route := range e.plan.Routes {
		for i, rule := range route.Rules {
			for n, ref := range rule.Backends {
				if ref.Kind == object.KindXBackend {
					e.rep.NotSupportedBy(
						report.TargetLacks,
						route.Subject,
						targetName,
						fmt.Sprintf("spec.rules[%d].backendRefs[%d].kind", i, n),
						"Envoy Gateway does not know XBackend: its share of the traffic gets 500",
					)
				}
			}
		}
	}
	for _, p := range e.plan.Objects[object.KindLoadBalancer] {
		e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec",
			fmt.Sprintf("write a BackendTrafficPolicy for %s", extractSpec(p.JSON)))
	}
	for _, p := range e.plan.Objects[object.KindTrafficPolicy] {
		if spec := extractSpec(p.JSON); capsRetries(spec) {
			e.rep.NotSupportedBy(report.TargetLacks, p.Subject, targetName, "spec.retryConstraint",
				fmt.Sprintf("write a BackendTrafficPolicy for %s", spec))
		}
	}
	e.reportMissed()
	e.reportRoutingByService()
	for _, r := range e.plan.HostRoutes {
		e.rep.NotSupportedBy(report.TargetLacks, r.Subject, targetName, "kind", "Envoy Gateway does not know "+r.Kind)
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
