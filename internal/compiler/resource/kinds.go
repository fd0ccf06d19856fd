package resource

import "k8s.io/apimachinery/pkg/runtime/schema"

// KindVersions is a kind with the versions in which it is read, the preferred one first.
type KindVersions struct {
	schema.GroupKind
	Versions []string
}

// ListKinds lists the kinds that are read where no control plane but limpet serves them.
func ListKinds() (all []KindVersions) {
	for _, k := range registry {
		if k.Group != istioGroup && k != podKind {
			all = append(all, KindVersions{k.GroupKind, k.versions})
		}
	}
	return all
}
