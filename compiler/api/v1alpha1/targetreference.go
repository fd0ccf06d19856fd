package v1alpha1

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// PolicyTargetReference names an object of the policy's own namespace, or a section of it, or that namespace, or a GatewayClass.
//
// +kubebuilder:validation:XValidation:rule="self.kind in ['Service', 'Namespace'] ? !has(self.group) || size(self.group) == 0 : self.kind == 'VirtualService' ? !has(self.group) || self.group == 'networking.istio.io' : self.kind in ['HTTPRoute', 'GRPCRoute', 'Gateway', 'GatewayClass'] && (!has(self.group) || self.group == 'gateway.networking.k8s.io')",message="must be a Service or Namespace of group \"\", an HTTPRoute, GRPCRoute, Gateway or GatewayClass of group gateway.networking.k8s.io, or a VirtualService of group networking.istio.io"
// +kubebuilder:validation:XValidation:rule="!has(self.sectionName) || !(self.kind in ['GatewayClass', 'Namespace'])",message="may not be set for a GatewayClass or a Namespace, which have no sections",fieldPath=".sectionName",reason=FieldValueForbidden
type PolicyTargetReference struct {
	// Group is the kind's API group. It may be left out, for each of the kinds is of one group.
	// +optional
	Group *gatewayv1.Group `json:"group,omitempty"`

	// Kind is what the policy attaches to.
	// +required
	Kind gatewayv1.Kind `json:"kind"`

	// Name is the object's.
	// +required
	Name gatewayv1.ObjectName `json:"name"`

	// Namespace may be written where it is the policy's own; policies attach to nothing in others (S3).
	// +optional
	Namespace *gatewayv1.Namespace `json:"namespace,omitempty"`

	// SectionName is the name of a Service's port, a route's rule or a Gateway's listener.
	// +optional
	SectionName *gatewayv1.SectionName `json:"sectionName,omitempty"`
}

// IsIn reports whether a policy of a namespace may attach to what is named, as far as its namespace goes.
func (r *PolicyTargetReference) IsIn(namespace string) bool {
	return r.Namespace == nil || string(*r.Namespace) == namespace
}
