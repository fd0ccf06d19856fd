package admission

import (
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkMetadata checks an object's metadata: names, labels, annotations. A namespace that is missing, or that a
// kind of the cluster has, is no fault: a server fills in the one of the request's URL and drops the other, which
// is dropped here too.
func (v *crdVersion) checkMetadata(obj map[string]any) field.ErrorList {
	at := field.NewPath("metadata")
	meta, found, _, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{})
	if err != nil {
		return field.ErrorList{field.TypeInvalid(at, field.OmitValueType{}, err.Error())}
	}
	if !found {
		meta = &metav1.ObjectMeta{}
	}
	switch fields, _ := obj["metadata"].(map[string]any); {
	case !v.namespaced:
		meta.Namespace = ""
		delete(fields, "namespace")
	case meta.Namespace == "":
		meta.Namespace = metav1.NamespaceDefault
	}
	return apivalidation.ValidateObjectMeta(meta, v.namespaced, apivalidation.NameIsDNSSubdomain, at)
}
