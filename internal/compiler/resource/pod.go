package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podKind is admitted and left alone: package livereload reads which pods run (S42).
var podKind = newKind(definition[Pod]{
	kind: "Pod", versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSSubdomain, loose: true,
})

// Pod is what the compiler reads of that kind.
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}
