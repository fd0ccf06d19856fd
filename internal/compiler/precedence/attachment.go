package precedence

import (
	"slices"
	"strconv"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Attachment is one of a policy's targets, and where in the policy it is written.
type Attachment struct {
	Target object.TargetRef
	Path   string
}

// ListTargets lists what a SessionPersistencePolicy of a namespace attaches to: targetRefs, or the seed's targetRef (S2).
// There is no namespace in a reference: targets are in the policy's own (S3), but for GatewayClasses, which have none.
func ListTargets(namespace string, spec *v1alpha1.SessionPersistencePolicySpec) []Attachment {
	all := make([]Attachment, 0, len(spec.TargetRefs)+1)
	for i, ref := range spec.TargetRefs {
		all = append(all, Attachment{convertTargetRef(namespace, ref), "spec.targetRefs[" + strconv.Itoa(i) + "]"})
	}
	if spec.TargetRef != nil {
		all = append(all, Attachment{convertTargetRef(namespace, *spec.TargetRef), "spec.targetRef"})
	}
	return all
}

func convertTargetRef(namespace string, ref gatewayv1.LocalPolicyTargetReferenceWithSectionName) object.TargetRef {
	t := object.TargetRef{Ref: object.Ref{Kind: string(ref.Kind), Namespace: namespace, Name: string(ref.Name)}}
	if t.Kind == object.KindGatewayClass {
		t.Namespace = ""
	}
	if ref.SectionName != nil {
		t.Section = string(*ref.SectionName)
	}
	return t
}

// HierarchyLevelOf says where in the hierarchy the target is; false for what no SessionPersistencePolicy attaches to (S2).
func HierarchyLevelOf(t object.TargetRef) (HierarchyLevel, bool) {
	switch {
	case t.Kind == object.KindGatewayClass:
		return OnGatewayClass, t.Section == ""
	case t.Kind == object.KindGateway:
		return pickHierarchyLevel(t, OnGateway, OnListener), true
	case slices.Contains(object.RouteKinds, t.Kind):
		return pickHierarchyLevel(t, OnRoute, OnRule), true
	case t.Kind == object.KindService:
		return pickHierarchyLevel(t, OnService, OnPort), true
	default:
		return 0, false
	}
}

func pickHierarchyLevel(t object.TargetRef, whole, section HierarchyLevel) HierarchyLevel {
	if t.Section == "" {
		return whole
	}
	return section
}
