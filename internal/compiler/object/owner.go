package object

// The labels of objects that limpet writes for a control plane. OwnerLabel is there where people name an owner
// (--owner).
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
