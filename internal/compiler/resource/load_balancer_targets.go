package resource

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

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
