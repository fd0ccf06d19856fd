package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// reasonPending is the reason of Programmed=False for a policy that no request reaches.
const reasonPending = gatewayv1.PolicyConditionReason(gatewayv1.GatewayReasonPending)

// ancestor is one entry of a policy: a Gateway that it has an effect on, the GatewayClass that it is for, or a target
// that is missing or that no Gateway leads to (S59).
type ancestor struct {
	ref object.TargetRef
	// refused is why the policy has no effect on the target, nil if it has.
	refused *policy.Attachment
	// paths are those through the Gateway that the policy has a say on.
	paths []*policy.Decision
}

// entry is an ancestor and what is said there.
type entry struct {
	ref        object.TargetRef
	conditions []metav1.Condition
}

func (b *builder) writePolicies() {
	for _, p := range wanted(b, b.Objects.SessionPolicies) {
		was := parseStatus[gatewayv1.PolicyStatus](b, p)
		b.addObject(
			p.Value.TypeMeta,
			p.Value.ObjectMeta,
			b.newPolicyStatus(p.Value.ObjectMeta, was, b.listPolicyEntries(p.Ref(), p.Value.Spec.Strategy)),
		)
	}
	for _, p := range wanted(b, b.Objects.TrafficPolicies) {
		was := parseStatus[gatewayv1.PolicyStatus](b, p)
		b.addObject(
			p.Value.TypeMeta,
			p.Value.ObjectMeta,
			b.newPolicyStatus(p.Value.ObjectMeta, was, b.listPolicyEntries(p.Ref(), nil)),
		)
	}
}

// listPolicyEntries gives the entries of a policy with sessions, and with the strategy that it names.
func (b *builder) listPolicyEntries(ref object.Ref, strategy *v1alpha1.MergeStrategy) []entry {
	limits := slices.DeleteFunc(
		slices.Clone(b.problems[ref]),
		func(p report.Problem) bool { return p.Verdict() == report.Refused },
	)
	var all []entry
	for _, a := range b.findAncestors(ref) {
		all = append(all, entry{a.ref, b.policyConditions(ref, a, strategy, limits)})
	}
	return all
}

// newPolicyStatus writes a policy's entries after those of other controllers, as far as there is room (S63).
func (b *builder) newPolicyStatus(
	meta metav1.ObjectMeta,
	was gatewayv1.PolicyStatus,
	all []entry,
) gatewayv1.PolicyStatus {
	s := gatewayv1.PolicyStatus{Ancestors: []gatewayv1.PolicyAncestorStatus{}}
	for _, a := range was.Ancestors {
		if a.ControllerName != b.Objects.ControllerName() {
			s.Ancestors = append(s.Ancestors, a)
		}
	}
	for _, e := range all {
		if len(s.Ancestors) >= v1alpha1.MaxAncestors {
			break
		}
		ref := newParentReference(e.ref)
		var there []metav1.Condition
		at := slices.IndexFunc(was.Ancestors, func(o gatewayv1.PolicyAncestorStatus) bool {
			return o.ControllerName == b.Objects.ControllerName() && sameParent(o.AncestorRef, ref, meta.Namespace)
		})
		if at >= 0 {
			there = was.Ancestors[at].Conditions
		}
		s.Ancestors = append(s.Ancestors, gatewayv1.PolicyAncestorStatus{
			AncestorRef: ref, ControllerName: b.Objects.ControllerName(),
			Conditions: b.newWriter(meta).merge(there, []string{string(v1alpha1.ConditionProgrammed)}, e.conditions...),
		})
	}
	return s
}

// findAncestors finds a policy's entries, in the order of its targets and of what they lead to.
func (b *builder) findAncestors(ref object.Ref) []*ancestor {
	var all []*ancestor
	at := func(ref object.TargetRef) *ancestor {
		i := slices.IndexFunc(all, func(a *ancestor) bool { return a.ref == ref })
		if i < 0 {
			i, all = len(all), append(all, &ancestor{ref: ref})
		}
		return all[i]
	}
	for _, a := range b.index.attachments[ref] {
		paths := b.index.paths[a.Target]
		if a.Class != "" {
			paths = slices.DeleteFunc(slices.Clone(paths), func(d *policy.Decision) bool { return !d.Path.IsOfClass(a.Class) })
		}
		switch {
		case a.Reason != "":
			at(a.Target).refused = a
			continue
		case len(paths) == 0:
			at(a.Target)
		}
		if a.Target.Kind == object.KindGatewayClass && len(paths) > 0 { // one ancestor, however many Gateways
			class := at(a.Target)
			class.paths = append(class.paths, paths...)
			continue
		}
		for _, w := range paths {
			if b.Decisions.AncestorLimit.Reached(ref, w.Path.Gateway) {
				continue
			}
			gateway := at(object.TargetRef{Ref: w.Path.Gateway})
			if !slices.Contains(gateway.paths, w) {
				gateway.paths = append(gateway.paths, w)
			}
		}
	}
	isClass := func(a *ancestor) bool { return a.ref.Kind == object.KindGatewayClass }
	if i := slices.IndexFunc(all, isClass); i > 0 { // it comes first, and so always finds room
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	return all
}

// newParentReference names an ancestor in the API's way.
func newParentReference(t object.TargetRef) gatewayv1.ParentReference {
	gk := object.APIKind(t.Kind)
	group, kind := gatewayv1.Group(gk.Group), gatewayv1.Kind(gk.Kind)
	if t.Kind == object.KindXBackend {
		group = gatewayxv1alpha1.GroupName
	}
	ref := gatewayv1.ParentReference{Group: &group, Kind: &kind, Name: gatewayv1.ObjectName(t.Name)}
	if t.Namespace != "" {
		namespace := gatewayv1.Namespace(t.Namespace)
		ref.Namespace = &namespace
	}
	if t.Section != "" {
		section := gatewayv1.SectionName(t.Section)
		ref.SectionName = &section
	}
	return ref
}

// policyConditions returns the conditions of a policy at one ancestor (S60, S61). limits are further problems of the
// policy: what is not honoured in full, or can't be supported.
func (b *builder) policyConditions(
	ref object.Ref, a *ancestor, strategy *v1alpha1.MergeStrategy, limits []report.Problem,
) []metav1.Condition {
	if a.refused != nil {
		return []metav1.Condition{newCondition(gatewayv1.PolicyConditionAccepted, false,
			gatewayv1.PolicyConditionReason(a.refused.Reason), prefixPath(a.refused.Path, a.refused.Message))}
	}
	share := b.computePolicyEffect(ref, a.paths)
	share.strategy = strategy
	if len(share.conflicts) > 0 && !share.effective {
		return []metav1.Condition{
			newCondition(
				gatewayv1.PolicyConditionAccepted,
				false,
				gatewayv1.PolicyReasonConflicted,
				joinLimited(share.conflicts),
			),
		}
	}
	share.notes = append(share.conflicts, share.notes...)
	for _, p := range limits {
		share.notes = appendOnce(share.notes, prefixPath(p.Path, p.Message))
	}
	return []metav1.Condition{
		newCondition(gatewayv1.PolicyConditionAccepted, true, gatewayv1.PolicyReasonAccepted, ""),
		share.newProgrammed(a.ref),
	}
}

func appendOnce(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// joinLimited joins what a message has room for.
func joinLimited(parts []string) string {
	if len(parts) > maxProblems {
		parts = append(slices.Clone(parts[:maxProblems]), fmt.Sprintf("and %d more", len(parts)-maxProblems))
	}
	return strings.Join(parts, "; ")
}
