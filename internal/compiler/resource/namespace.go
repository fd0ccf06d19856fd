package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// namespaceKind is read for its labels, by which listeners select namespaces.
var namespaceKind = newKind(definition[Namespace]{
	Traits: Traits{ClusterScoped: true},
	kind:   "Namespace", versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSLabel, loose: true,
	convert: func(n *Object[Namespace], _ *Objects) { n.Labels = withNameLabel(n.Labels, n.Name) },
	list:    func(o *Objects) *[]*Object[Namespace] { return &o.Namespaces },
})

// Namespace is what limpet reads of that kind.
type Namespace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// withNameLabel adds the label that an API server gives every Namespace.
func withNameLabel(labels map[string]string, name string) map[string]string {
	all := map[string]string{}
	for key, value := range labels {
		all[key] = value
	}
	all[corev1.LabelMetadataName] = name
	return all
}
