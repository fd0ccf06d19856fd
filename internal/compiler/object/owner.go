package object

// The labels of what limpet writes for a control plane: that it did, and for whom, where people say so (--owner).
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "limpet"
	OwnerLabel     = "limpet.dev/owner"
)

// OwnerLabels are the labels of an object that is written for an owner; empty for none.
func OwnerLabels(owner string) map[string]any {
	labels := map[string]any{ManagedByLabel: ManagedBy}
	if owner != "" {
		labels[OwnerLabel] = owner
	}
	return labels
}
