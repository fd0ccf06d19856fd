package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// sessionPolicyKinds are the kinds beside routes in which session persistence is written (S1).
var sessionPolicyKinds = map[schema.GroupKind]kindSpec{
	{Group: v1alpha1.Group, Kind: "SessionPersistencePolicy"}: {
		versions: []string{v1alpha1.Version},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.SessionPolicies, func(o *v1alpha1.SessionPersistencePolicy) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayxv1alpha1.GroupName, Kind: "XBackend"}: {
		versions: []string{"v1alpha1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Backends, func(o *XBackend) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
}

func init() {
	for gk, k := range sessionPolicyKinds {
		supportedKinds[gk] = k
	}
}
