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

// Object names an object. Namespace is empty for a GatewayClass.
type Object struct{ Kind, Namespace, Name string }

// Key names the object within its kind: namespace/name, or the name alone where there is no namespace.
func (o Object) Key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// String names the object as "HTTPRoute shop/cart".
func (o Object) String() string { return o.Kind + " " + o.Key() }

// Target is what blocks attach to: an object or, with Section, the rule or listener of that name in it.
type Target struct {
	Object
	Section string
}

// String names the target as "Gateway infra/web, sectionName https".
func (t Target) String() string {
	if t.Section == "" {
		return t.Object.String()
	}
	return t.Object.String() + ", sectionName " + t.Section
}

// Level says where in the hierarchy the target is; false for what no SessionPersistencePolicy attaches to (S2).
func (t Target) Level() (Level, bool) {
	switch t.Kind {
	case KindGatewayClass:
		return OnGatewayClass, t.Section == ""
	case KindGateway:
		return either(t, OnGateway, OnListener), true
	case KindHTTPRoute, KindGRPCRoute, KindVirtualService:
		return either(t, OnRoute, OnRule), true
	case KindService:
		return OnService, t.Section == ""
	default:
		return 0, false
	}
}

func either(t Target, whole, section Level) Level {
	if t.Section == "" {
		return whole
	}
	return section
}

// Attachment is one of a policy's targets, and where in the policy it is written.
type Attachment struct {
	Target Target
	Path   string
}

// Targets lists what a SessionPersistencePolicy of a namespace attaches to: targetRefs, or the seed's targetRef (S2).
// There is no namespace in a reference: targets are in the policy's own (S3), but for GatewayClasses, which have none.
func Targets(namespace string, spec *v1alpha1.SessionPersistencePolicySpec) []Attachment {
	all := make([]Attachment, 0, len(spec.TargetRefs)+1)
	for i, ref := range spec.TargetRefs {
		all = append(all, Attachment{targetOf(namespace, ref), "spec.targetRefs[" + strconv.Itoa(i) + "]"})
	}
	if spec.TargetRef != nil {
		all = append(all, Attachment{targetOf(namespace, *spec.TargetRef), "spec.targetRef"})
	}
	return all
}

func targetOf(namespace string, ref gatewayv1.LocalPolicyTargetReferenceWithSectionName) Target {
	t := Target{Object: Object{string(ref.Kind), namespace, string(ref.Name)}}
	if t.Kind == KindGatewayClass {
		t.Namespace = ""
	}
	if ref.SectionName != nil {
		t.Section = string(*ref.SectionName)
	}
	return t
}
