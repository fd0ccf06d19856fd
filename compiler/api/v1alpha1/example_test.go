package v1alpha1_test

import (
	"fmt"
	"log"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// A Gateway's owner limits the sessions that routes ask for, and starts none (docs/semantics.md, S10).
func ExampleSessionPersistencePolicy() {
	hours, off := v1alpha1.Duration("8h"), true
	policy := v1alpha1.SessionPersistencePolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.Group + "/v1alpha1", Kind: "SessionPersistencePolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: "limits", Namespace: "infra"},
		Spec: v1alpha1.SessionPersistencePolicySpec{
			TargetRefs: []v1alpha1.PolicyTargetReference{{Kind: "Gateway", Name: "web"}},
			Default:    &v1alpha1.SessionSettings{Disabled: &off},
			Override:   &v1alpha1.SessionSettings{AbsoluteTimeout: &hours},
		},
	}
	text, err := yaml.Marshal(policy)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: limpet.dev/v1alpha1
	// kind: SessionPersistencePolicy
	// metadata:
	//   name: limits
	//   namespace: infra
	// spec:
	//   default:
	//     disabled: true
	//   override:
	//     absoluteTimeout: 8h
	//   targetRefs:
	//   - kind: Gateway
	//     name: web
	// status:
	//   ancestors: null
}

// Requests without a session go by the hash of a header; a session's token comes first (S51 to S54).
func ExampleLoadBalancerPolicy() {
	strategy := v1alpha1.RequestHash
	section := gatewayv1.SectionName("checkout")
	spec := v1alpha1.LoadBalancerPolicySpec{
		TargetRefs: []v1alpha1.PolicyTargetReference{{Kind: "HTTPRoute", Name: "cart", SectionName: &section}},
		Strategy:   &strategy,
		RequestHashPolicies: []v1alpha1.RequestHashPolicy{
			{Terminal: true, HeaderHashOptions: &v1alpha1.HeaderHashOptions{HeaderName: "X-User"}},
			{HashSourceIP: true},
		},
	}
	text, err := yaml.Marshal(spec)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	// Output:
	// requestHashPolicies:
	// - headerHashOptions:
	//     headerName: X-User
	//   terminal: true
	// - hashSourceIP: true
	// strategy: RequestHash
	// targetRefs:
	// - kind: HTTPRoute
	//   name: cart
	//   sectionName: checkout
}
