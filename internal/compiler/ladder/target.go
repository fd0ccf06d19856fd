package ladder

import (
	"strconv"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// The kinds of objects that policies attach to.
const (
	KindGatewayClass = "GatewayClass"
	KindGateway      = "Gateway"
	KindHTTPRoute    = "HTTPRoute"
	KindGRPCRoute    = "GRPCRoute"
	KindService      = "Service"
	KindXBackend     = "XBackend"

	// KindVirtualService is Istio's, of which a rule is an HTTP route.
	KindVirtualService = "VirtualService"
)

// The kinds of policies.
const (
	KindSessionPolicy = "SessionPersistencePolicy"
	KindTrafficPolicy = "XBackendTrafficPolicy"
	KindLoadBalancer  = "LoadBalancerPolicy"
)

// Ref names an object. Namespace is empty for a GatewayClass.
type Ref struct{ Kind, Namespace, Name string }

// Key names the object within its kind: namespace/name, or the name alone where there is no namespace.
func (o Ref) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// String names the object as "HTTPRoute shop/cart".
func (o Ref) String() string { return o.Kind + " " + o.Key() }

// TargetRef is what blocks attach to: an object or, with Section, the rule or listener of that name in it.
type TargetRef struct {
	Ref
	Section string
}

// String names the target as "Gateway infra/web, sectionName https".
func (t TargetRef) String() string {
	if t.Section == "" {
		return t.Ref.String()
	}
	return t.Ref.String() + ", sectionName " + t.Section
}

// HierarchyLevel says where in the hierarchy the target is; false for what no SessionPersistencePolicy attaches to (S2).
func (t TargetRef) HierarchyLevel() (HierarchyLevel, bool) {
	switch t.Kind {
	case KindGatewayClass:
		return OnGatewayClass, t.Section == ""
	case KindGateway:
		return pickHierarchyLevel(t, OnGateway, OnListener), true
	case KindHTTPRoute, KindGRPCRoute, KindVirtualService:
		return pickHierarchyLevel(t, OnRoute, OnRule), true
	case KindService:
		return OnService, t.Section == ""
	default:
		return 0, false
	}
}

func pickHierarchyLevel(t TargetRef, whole, section HierarchyLevel) HierarchyLevel {
	if t.Section == "" {
		return whole
	}
	return section
}

// Attachment is one of a policy's targets, and where in the policy it is written.
type Attachment struct {
	Target TargetRef
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

func convertTargetRef(namespace string, ref gatewayv1.LocalPolicyTargetReferenceWithSectionName) TargetRef {
	t := TargetRef{Ref: Ref{string(ref.Kind), namespace, string(ref.Name)}}
	if t.Kind == KindGatewayClass {
		t.Namespace = ""
	}
	if ref.SectionName != nil {
		t.Section = string(*ref.SectionName)
	}
	return t
}
