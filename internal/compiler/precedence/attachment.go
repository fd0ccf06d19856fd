package precedence

import (
	"slices"
	"strconv"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// Attachment is one of a policy's targets, and where in the policy it is written.
type Attachment struct {
	Target object.TargetRef
	Path   string
}

// ListTargets lists what a SessionPersistencePolicy of a namespace attaches to: targetRefs, or the seed's targetRef
// (S2). Targets are in the policy's own namespace (S3), but for GatewayClasses and the namespace itself, which are in
// none.
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

// CheckTarget says why a policy of a namespace does not attach to one of its targets, by its index in what ListTargets
// gives, whatever there is; empty if it may.
func CheckTarget(namespace string, spec *v1alpha1.SessionPersistencePolicySpec, index int) string {
	ref := listReferences(spec)[index]
	switch {
	case !ref.IsIn(namespace):
		return "policies attach to objects of their own namespace, " + namespace + ", only"
	case ref.Kind == object.KindNamespace && string(ref.Name) != namespace:
		return "policies attach to their own namespace, " + namespace + ", only"
	case ref.Kind == object.KindGatewayClass && spec.ClassName != nil && ref.Name != *spec.ClassName:
		return "className is another GatewayClass, " + string(*spec.ClassName)
	}
	return ""
}

// listReferences gives what a policy names as targets, in the order of ListTargets.
func listReferences(spec *v1alpha1.SessionPersistencePolicySpec) []v1alpha1.PolicyTargetReference {
	refs := spec.TargetRefs
	if spec.TargetRef != nil {
		refs = append(refs[:len(refs):len(refs)], *spec.TargetRef)
	}
	return refs
}

func convertTargetRef(namespace string, ref v1alpha1.PolicyTargetReference) object.TargetRef {
	t := object.TargetRef{Ref: object.Ref{Kind: string(ref.Kind), Namespace: namespace, Name: string(ref.Name)}}
	if t.Kind == object.KindGatewayClass || t.Kind == object.KindNamespace {
		t.Namespace = ""
	}
	if ref.SectionName != nil {
		t.Section = string(*ref.SectionName)
	}
	return t
}

// HierarchyLevelOf says where in the hierarchy the target is; false for what no SessionPersistencePolicy attaches to
// (S2).
func HierarchyLevelOf(t object.TargetRef) (HierarchyLevel, bool) {
	switch {
	case t.Kind == object.KindGatewayClass:
		return OnGatewayClass, t.Section == ""
	case t.Kind == object.KindNamespace:
		return OnNamespace, t.Section == ""
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
