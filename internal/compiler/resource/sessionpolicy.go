package resource

import (
	"reflect"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var sessionPolicyKind = newKind(definition[v1alpha1.SessionPersistencePolicy]{
	Traits: Traits{HasStatus: true, Describable: true},
	group:  v1alpha1.Group, kind: object.KindSessionPolicy, versions: []string{v1alpha1.Version},
	fields: sessionPolicyFields, prepare: readNulls,
	list: func(o *Objects) *[]*Object[v1alpha1.SessionPersistencePolicy] { return &o.SessionPolicies },
})

// sessionPolicyFields are those of a SessionPersistencePolicy: its targets, and its settings in each of its blocks. A
// setting that the type has is supported: precedence's table of fields is held to the type.
func sessionPolicyFields() support.Fields {
	ref := support.All("group", "kind", "name", "namespace", "sectionName")
	settings := support.All(listLeaves(reflect.TypeFor[v1alpha1.SessionSettings](), "")...)
	return support.Join(
		support.Under("spec.targetRefs[]", ref), support.Under("spec.targetRef", ref),
		support.All("spec.strategy", "spec.className", "spec.scope"), support.Under("spec", settings),
		support.Under("spec.default", settings), support.Under("spec.override", settings),
	)
}

// listLeaves lists the fields of a type of ours that hold no further ones, as documents name them below a path.
func listLeaves(t reflect.Type, path string) (leaves []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return listLeaves(t.Elem(), path)
	case reflect.Slice:
		return listLeaves(t.Elem(), path+"[]")
	case reflect.Struct:
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			leaves = append(leaves, listLeaves(f.Type, strings.TrimPrefix(path+"."+name, "."))...)
		}
		return leaves
	}
	return []string{path}
}
