package admission

import (
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const unknownField = "unknown field"

// IsUnknownField tells whether an error of Admit says that the schema lacks a field.
func IsUnknownField(e *field.Error) bool {
	return e.Type == field.ErrorTypeForbidden && e.Detail == unknownField
}

func unknownFields(paths []string) field.ErrorList {
	errs := make(field.ErrorList, 0, len(paths))
	for _, path := range paths {
		errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: path, BadValue: "", Detail: unknownField})
	}
	return errs
}

// dropUnknown gives a copy of the object without status and the fields that the schema lacks, and those fields' paths.
func (v *crdVersion) dropUnknown(obj map[string]any) (pruned map[string]any, unknown []string) {
	pruned = make(map[string]any, len(obj))
	for key, value := range obj {
		if key != "status" {
			pruned[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	unknown = pruning.PruneWithOptions(pruned, v.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	_, _, inMetadata, _ := objectmeta.GetObjectMetaWithOptions(pruned,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true, DropMalformedFields: true})
	unknown = append(unknown, inMetadata...)
	slices.Sort(unknown)
	return pruned, unknown
}

// FieldsBeside gives the fields that the schema has where a path of an object leads, the last name of which is left
// out: those that may be meant by one that it lacks.
func (a *Admitter) FieldsBeside(obj map[string]any, path string) []string {
	v, _ := a.resolve(obj)
	if v == nil {
		return nil
	}
	parts := strings.Split(path, ".")
	at := v.structural
	for _, part := range parts[:len(parts)-1] {
		name, _, inList := strings.Cut(part, "[")
		next, known := at.Properties[name]
		switch {
		case !known:
			return nil
		case inList && next.Items != nil:
			at = next.Items
		default:
			at = &next
		}
	}
	return slices.Sorted(maps.Keys(at.Properties))
}
