package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/contourapi"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// writeHostRoutes writes the statuses of routes with a Host. The conditions about policies are for all Gateways at
// once: such a route names none.
func (b *builder) writeHostRoutes() {
	for _, r := range wanted(b, b.Objects.HostRoutes) {
		kind, meta := metav1.TypeMeta{APIVersion: r.Value.APIVersion, Kind: r.Kind}, r.Value.ObjectMeta
		s := parseStatus[contourapi.Status](b, r)
		b.setValid(&s, r.Kind, meta, b.problems[r.Ref()])
		s.Replace(ownedByAffected, func(was []metav1.Condition) []metav1.Condition {
			return b.newWriter(meta).merge(was, ownedByAffected, b.findAffecting(r.Ref(), anyGateway).listConditions()...)
		})
		b.addObject(kind, meta, s)
	}
}

// writeAuthServices writes the statuses of what stands for Services.
func (b *builder) writeAuthServices() {
	for _, o := range wanted(b, b.Objects.AuthServices) {
		s := parseStatus[contourapi.Status](b, o)
		b.setValid(&s, o.Kind, o.Value.ObjectMeta, b.problems[o.Ref()])
		b.addObject(o.Value.TypeMeta, o.Value.ObjectMeta, s)
	}
}

// setValid tells a status what there is to say of its object.
func (b *builder) setValid(s *contourapi.Status, kind string, meta metav1.ObjectMeta, problems []report.Problem) {
	findings := make([]contourapi.Finding, len(problems))
	for i, p := range problems {
		findings[i] = contourapi.Finding{
			Place: p.Place, Reason: p.Reason, Message: prefixPath(p.Path, p.Message), Error: p.Verdict() == report.Refused,
			Unresolved: slices.Contains(unresolvedRouteReasons, gatewayv1.RouteConditionReason(p.Reason)),
		}
	}
	s.SetValid(kind, findings, func(was, is metav1.Condition) (metav1.Condition, bool) {
		return b.newWriter(meta).replace(was, is), was.ObservedGeneration <= meta.Generation
	})
}
