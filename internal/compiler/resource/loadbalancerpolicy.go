package resource

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

var loadBalancerPolicyKind = newKind(definition[v1alpha1.LoadBalancerPolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  v1alpha1.Group, kind: object.KindLoadBalancer, versions: []string{v1alpha1.Version},
	fields: func() fieldSupport {
		return joinRows(nestUnder("spec.targetRefs[]", supportAll("group", "kind", "name", "sectionName")), nestUnder("spec", balancingFields()),
			nestUnder("spec", hostFields()))
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
func balancingFields() fieldSupport {
	return joinRows(supportAll("strategy"), nestUnder("requestHashPolicies[]", supportAll(
		"terminal", "headerHashOptions.headerName", "headerHashOptions.valueRewriteRegex", "headerHashOptions.valueRewriteReplacement",
		"cookieHashOptions.cookieName", "cookieHashOptions.ttl", "cookieHashOptions.path",
		"queryParameterHashOptions.parameterName", "hashSourceIP",
	)))
}

// hostFields are what a policy expects of hosts.
func hostFields() fieldSupport {
	return joinRows(
		nestUnder("healthCheck", supportAll("type", "interval", "timeout", "unhealthyThreshold", "healthyThreshold",
			"http.path", "http.hostname", "http.expectedStatuses[]", "grpc.service")),
		nestUnder("outlierDetection", supportAll("consecutive5xxErrors", "consecutiveGatewayErrors", "interval", "baseEjectionTime",
			"maxEjectionPercent")),
		supportAll("limits.maxConnections"),
		nestUnder("slowStart", supportAll("window", "minWeightPercent")),
	)
}
