// Package v1alpha1 holds limpet's own API kinds, group limpet.dev, version v1alpha1: SessionPersistencePolicy,
// the session persistence of GEP-1619 v1.0.0 with everything that the plugin configuration offers, and
// LoadBalancerPolicy, where new sessions begin. Both attach to other objects as GEP-713 describes.
//
// Every setting of a session is a pointer and none has a default in the schema: policies merge field by field, so
// the compiler must see what was written. docs/semantics.md has the rules (S1, S2, ...) that comments here refer to.
// The CRDs in compiler/api/crds are generated from these types and their markers.
//
// +kubebuilder:object:generate=true
// +groupName=limpet.dev
package v1alpha1

// Group and Version are the API group and version of these kinds.
const (
	Group   = "limpet.dev"
	Version = "v1alpha1"
)
