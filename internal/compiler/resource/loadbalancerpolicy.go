package resource

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var loadBalancerPolicyKind = newKind(definition[v1alpha1.LoadBalancerPolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  v1alpha1.Group, kind: object.KindLoadBalancer, versions: []string{v1alpha1.Version},
	fields: func() fieldSupport {
		return joinRows(nestUnder("spec.targetRefs[]", supportAll("group", "kind", "name", "sectionName")), nestUnder("spec", balancingFields()))
	},
	list: func(o *Objects) *[]*Object[v1alpha1.LoadBalancerPolicy] { return &o.LoadBalancers },
})

// balancingFields are those of a load-balancing policy, ours or Contour's.
func balancingFields() fieldSupport {
	return joinRows(supportAll("strategy"), nestUnder("requestHashPolicies[]", supportAll(
		"terminal", "headerHashOptions.headerName", "cookieHashOptions.cookieName", "cookieHashOptions.ttl", "cookieHashOptions.path",
		"queryParameterHashOptions.parameterName", "hashSourceIP",
	)))
}
