package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// SessionPersistencePolicy makes the sessions of what it targets, and of everything below that, stick to their
// backends. It is an inherited policy of GEP-713; docs/semantics.md says which policy wins where.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=gateway-api,shortName=spp
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=Inherited"
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRefs[0].kind`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.targetRefs[0].name`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Session",type=string,JSONPath=`.spec.sessionName`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.ancestors[0].conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SessionPersistencePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy wants, and for which objects.
	// +required
	Spec SessionPersistencePolicySpec `json:"spec"`

	// Status is what became of the policy, for each Gateway that it has an effect on.
	// +optional
	Status gatewayv1.PolicyStatus `json:"status,omitempty"`
}

// SessionPersistencePolicySpec holds the targets and up to three blocks of the same fields: the plain ones here,
// the defaults and the overrides. A policy without any block is an empty plain one: it switches session
// persistence on with every field at its default (S9).
//
// +kubebuilder:validation:XValidation:rule="has(self.targetRefs) != has(self.targetRef)",message="write exactly one of targetRefs and targetRef"
// +kubebuilder:validation:XValidation:rule="!has(self.strategy) || !(has(self.default) || has(self.override))",message="may not be set together with default or override, which are strategies of their own",fieldPath=".strategy",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.scope) || (!has(self.targetRefs) || self.targetRefs.all(t, t.kind in ['HTTPRoute', 'GRPCRoute'] && !has(t.sectionName))) && (!has(self.targetRef) || self.targetRef.kind in ['HTTPRoute', 'GRPCRoute'] && !has(self.targetRef.sectionName))",message="may only be set for HTTPRoutes and GRPCRoutes without sectionName",fieldPath=".scope",reason=FieldValueForbidden
type SessionPersistencePolicySpec struct {
	// TargetRefs are the objects that the policy attaches to: this Namespace itself (all of its routes), and in it Services (with
	// sectionName: the port of that name), HTTPRoutes and GRPCRoutes (with sectionName: the rule of that name), Gateways (with sectionName:
	// the listener of that name), GatewayClasses (S2, S4) and Istio's VirtualServices (with sectionName: the HTTP route of that name).
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.kind == b.kind && a.name == b.name && (has(a.sectionName) ? a.sectionName : '') == (has(b.sectionName) ? b.sectionName : '')))",message="must not name a target twice"
	// +listType=atomic
	// +optional
	TargetRefs []PolicyTargetReference `json:"targetRefs,omitempty"`

	// TargetRef is a single target, as GEP-1619 v1.0.0 and the older GEP-713 have it. Write targetRefs instead.
	// +optional
	TargetRef *PolicyTargetReference `json:"targetRef,omitempty"`

	// ClassName restricts the policy to requests that come through Gateways of this GatewayClass (S2).
	// +optional
	ClassName *gatewayv1.ObjectName `json:"className,omitempty"`

	// Scope says what the sessions of a route's rules belong to: each to its rule, or all to the route, so that a session that
	// begins at one rule goes on at the others (S22). It is for HTTPRoutes and GRPCRoutes as a whole, and does not merge. Rule where
	// it is left out.
	// +optional
	Scope *SessionScope `json:"scope,omitempty"`

	// Strategy says how the plain fields meet those of other policies above and below, in GEP-713's words. AtomicDefaults
	// hold whole, and only where nothing below the target says anything; PatchDefaults fill in what nothing below writes.
	// AtomicOverrides take the place of all that stands below; PatchOverrides change the fields that they write. Between two
	// policies the higher one's strategy counts. Without it plain fields are stronger than any defaults and weaker than
	// any overrides (S5).
	// +optional
	Strategy *MergeStrategy `json:"strategy,omitempty"`

	SessionSettings `json:",inline"`

	// Default holds what is weaker than anything plain, on the targets and below; the lowest target's is the
	// strongest default.
	// +optional
	Default *SessionSettings `json:"default,omitempty"`

	// Override holds what is stronger than anything plain, on the targets and below; the highest target's is the
	// strongest override.
	// +optional
	Override *SessionSettings `json:"override,omitempty"`
}

// SessionScope is what a route's sessions belong to.
//
// +kubebuilder:validation:Enum=Rule;Route
type SessionScope string

// The scopes.
const (
	ScopeRule  SessionScope = "Rule"
	ScopeRoute SessionScope = "Route"
)

// MergeStrategy is how a policy meets others of its kind above and below it (GEP-713, "merge strategies").
//
// +kubebuilder:validation:Enum=AtomicDefaults;PatchDefaults;AtomicOverrides;PatchOverrides
type MergeStrategy string

// The strategies.
const (
	AtomicDefaults  MergeStrategy = "AtomicDefaults"
	PatchDefaults   MergeStrategy = "PatchDefaults"
	AtomicOverrides MergeStrategy = "AtomicOverrides"
	PatchOverrides  MergeStrategy = "PatchOverrides"
)

// IsOverride reports whether the policy is stronger than those below its target.
func (s MergeStrategy) IsOverride() bool { return s == AtomicOverrides || s == PatchOverrides }

// IsAtomic reports whether the policy holds whole or not at all.
func (s MergeStrategy) IsAtomic() bool { return s == AtomicDefaults || s == AtomicOverrides }

// SessionPersistencePolicyList is what an API server answers to a list.
//
// +kubebuilder:object:root=true
type SessionPersistencePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SessionPersistencePolicy `json:"items"`
}
