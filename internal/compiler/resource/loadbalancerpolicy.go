package resource

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var loadBalancerPolicyKind = newKind(definition[v1alpha1.LoadBalancerPolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  v1alpha1.Group, kind: object.KindLoadBalancer, versions: []string{v1alpha1.Version},
	fields: func() support.Fields {
		return support.Join(
			support.Under("spec.targetRefs[]", support.All("group", "kind", "name", "namespace", "sectionName")),
			support.Under("spec", balancingFields()),
			support.Under("spec", hostFields()))
	},
	list: func(o *Objects) *[]*Object[v1alpha1.LoadBalancerPolicy] { return &o.LoadBalancers },
})

// LoadBalancerTargets lists what a LoadBalancerPolicy is attached to, in order, whether the input has it or not.
func LoadBalancerTargets(p *Object[v1alpha1.LoadBalancerPolicy]) []object.TargetRef {
	targets := make([]object.TargetRef, len(p.Value.Spec.TargetRefs))
	for i, ref := range p.Value.Spec.TargetRefs {
		targets[i].Ref = object.Ref{Kind: string(ref.Kind), Namespace: p.Namespace, Name: string(ref.Name)}
		if ref.SectionName != nil {
			targets[i].Section = string(*ref.SectionName)
		}
	}
	return targets
}

// balancingFields are those of a load-balancing policy, ours or Contour's.
func balancingFields() support.Fields {
	return support.Join(support.All("strategy"), support.Under("requestHashPolicies[]", support.All(
		"terminal",
		"headerHashOptions.headerName",
		"headerHashOptions.valueRewriteRegex",
		"headerHashOptions.valueRewriteReplacement",
		"cookieHashOptions.cookieName",
		"cookieHashOptions.ttl",
		"cookieHashOptions.path",
		"queryParameterHashOptions.parameterName",
		"hashSourceIP",
	)))
}

// hostFields are the fields about hosts.
func hostFields() support.Fields {
	return support.Join(
		support.Under("healthCheck", support.All("type", "interval", "timeout", "unhealthyThreshold", "healthyThreshold",
			"http.path", "http.hostname", "http.expectedStatuses[]", "grpc.service")),
		support.Under(
			"outlierDetection",
			support.All("consecutive5xxErrors", "consecutiveGatewayErrors", "interval", "baseEjectionTime",
				"maxEjectionPercent"),
		),
		support.All("limits.maxConnections"),
		support.Under("slowStart", support.All("window", "minWeightPercent")),
	)
}
