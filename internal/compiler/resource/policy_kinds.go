package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// policyKinds are the kinds that say how requests are spread and retried.
var policyKinds = map[schema.GroupKind]kindSpec{
	{Group: v1alpha1.Group, Kind: "LoadBalancerPolicy"}: {
		versions: []string{v1alpha1.Version},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.LoadBalancers, func(o *v1alpha1.LoadBalancerPolicy) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayxv1alpha1.GroupName, Kind: "XBackendTrafficPolicy"}: {
		versions: []string{"v1alpha1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.TrafficPolicies, func(o *gatewayxv1alpha1.XBackendTrafficPolicy) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
}

// balancingFields are those of a load-balancing policy, ours or Contour's.
func balancingFields() fieldSupport {
	return joinRows(supportAll("strategy"), nestUnder("requestHashPolicies[]", supportAll(
		"terminal", "headerHashOptions.headerName", "cookieHashOptions.cookieName", "cookieHashOptions.ttl", "cookieHashOptions.path",
		"queryParameterHashOptions.parameterName", "hashSourceIP",
	)))
}

func httpProxyFields() fieldSupport {
	return joinRows(supportAll("spec.virtualhost.fqdn"), nestUnder("spec.routes[]", joinRows(
		supportAll("conditions[].prefix", "conditions[].exact", "services[].name", "services[].port", "services[].weight"),
		nestUnder("loadBalancerPolicy", balancingFields()),
	)))
}

func init() {
	for gk, k := range policyKinds {
		supportedKinds[gk] = k
	}
}
