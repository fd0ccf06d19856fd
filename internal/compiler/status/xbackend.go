package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// maxBackendAncestors is how many ancestors the API lets an XBackend's status have (GEP-4894).
const maxBackendAncestors = 32

// BackendStatus is the status of an XBackend as Gateway API 1.7 has it, whose own package needs a newer Go than ours.
type BackendStatus struct {
	Ancestors []BackendAncestor `json:"ancestors,omitempty"`
}

// BackendAncestor is what became of an XBackend on a Gateway that leads to it.
type BackendAncestor struct {
	AncestorRef    gatewayv1.ParentReference   `json:"ancestorRef"`
	ControllerName gatewayv1.GatewayController `json:"controllerName"`
	Conditions     []metav1.Condition          `json:"conditions,omitempty"`
}

// writeXBackends writes an entry for each Gateway that leads to an XBackend, after those of other controllers.
func (b *builder) writeXBackends() {
	for _, o := range wanted(b, b.Objects.Backends) {
		was := parseStatus[BackendStatus](b, o)
		ours := backendAccepted(b.problems[o.Ref()])
		s := BackendStatus{
			Ancestors: slices.DeleteFunc(
				slices.Clone(was.Ancestors),
				func(a BackendAncestor) bool { return a.ControllerName == b.Objects.ControllerName() },
			),
		}
		for _, g := range b.reachability[object.TargetRef{Ref: o.Ref()}] {
			if len(s.Ancestors) == maxBackendAncestors {
				break
			}
			ref := newParentReference(object.TargetRef{Ref: g})
			var there []metav1.Condition
			at := slices.IndexFunc(was.Ancestors, func(a BackendAncestor) bool {
				return a.ControllerName == b.Objects.ControllerName() && sameParent(a.AncestorRef, ref, o.Namespace)
			})
			if at >= 0 {
				there = was.Ancestors[at].Conditions
			}
			s.Ancestors = append(s.Ancestors, BackendAncestor{
				AncestorRef: ref, ControllerName: b.Objects.ControllerName(),
				Conditions: b.newWriter(o.Value.ObjectMeta).merge(there, ownedByAffected,
					append([]metav1.Condition{ours}, b.affectedBackend(o.Ref(), g)...)...),
			})
		}
		b.addObject(o.Value.TypeMeta, o.Value.ObjectMeta, s)
	}
}

// backendAccepted is the condition Accepted. It is False for an XBackend whose session can't be honoured: every request
// for it is answered 500.
func backendAccepted(problems []report.Problem) metav1.Condition {
	if refused := filterByReason(problems, gatewayv1.PolicyReasonInvalid); len(refused) > 0 {
		return newCondition(gatewayv1.PolicyConditionAccepted, false, gatewayv1.PolicyReasonInvalid, joinProblems(refused))
	}
	return newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, joinProblems(problems))
}
