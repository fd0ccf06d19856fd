package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/backendtls"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// writeBackendTLS writes the status of BackendTLSPolicies: an entry for each Gateway that leads to a target, and for
// targets that are missing or that no Gateway leads to.
func (b *builder) writeBackendTLS() {
	for _, p := range wanted(b, b.Objects.BackendTLS) {
		was, entries := parseStatus[gatewayv1.PolicyStatus](b, p), b.listBackendTLSEntries(p)
		b.addObject(p.Value.TypeMeta, p.Value.ObjectMeta, b.newPolicyStatus(p.Value.ObjectMeta, was, entries))
	}
}

func (b *builder) listBackendTLSEntries(p *resource.BackendTLSPolicy) (all []entry) {
	problems := b.problems[p.Ref()]
	for i, ref := range p.Value.Spec.TargetRefs {
		target := backendtls.TargetOf(p, ref)
		own := filterByPlace(problems, func(p report.Place) bool { return p.IsIn(report.TargetRefs, i) })
		gateways := b.reachability[object.TargetRef{Ref: target.Ref}]
		for _, g := range gateways {
			all = putEntry(all, object.TargetRef{Ref: g}, backendTLSConditions(own, problems)...)
		}
		if len(gateways) == 0 {
			all = putEntry(all, target, backendTLSConditions(own, problems)...)
		}
	}
	return all
}

// unverified are the reasons for which a policy's references lead to no certificates.
var unverified = []gatewayv1.PolicyConditionReason{
	gatewayv1.BackendTLSPolicyReasonInvalidKind, gatewayv1.BackendTLSPolicyReasonInvalidCACertificateRef,
}

// backendTLSConditions says what became of a policy at a target, of whose problems own are.
func backendTLSConditions(own, all []report.Problem) []metav1.Condition {
	isOfTarget := func(p report.Problem) bool { return p.Place.Section == report.TargetRefs }
	refused := slices.Concat(own, filterByReason(all, gatewayv1.BackendTLSPolicyReasonNoValidCACertificate),
		slices.DeleteFunc(filterByReason(all, gatewayv1.PolicyReasonInvalid), isOfTarget))
	accepted := newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, "")
	if len(refused) > 0 {
		accepted = newCondition(gatewayv1.PolicyConditionAccepted, false, refused[0].Reason, joinProblems(refused))
	}
	resolved := newCondition(
		gatewayv1.BackendTLSPolicyConditionResolvedRefs,
		true,
		gatewayv1.BackendTLSPolicyReasonResolvedRefs,
		"",
	)
	if faults := filterByReason(all, unverified...); len(faults) > 0 {
		resolved = newCondition(
			gatewayv1.BackendTLSPolicyConditionResolvedRefs,
			false,
			faults[0].Reason,
			joinProblems(faults),
		)
	}
	return []metav1.Condition{accepted, resolved}
}
