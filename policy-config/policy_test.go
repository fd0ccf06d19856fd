package policyconfig

import (
	"reflect"
	"strings"
	"testing"
)

// names are the fields of a decoder table.
func names[T any](fields []field[T]) []string {
	all := make([]string, len(fields))
	for i := range fields {
		all[i] = fields[i].name
	}
	return all
}

// Every field of every type stands in its decoder table, under its name in JSON and in the same order, so none
// is forgotten when one is added. $schema, the first of a configuration's, is stored nowhere.
func TestEveryFieldIsDecoded(t *testing.T) {
	tables := map[reflect.Type][]string{
		reflect.TypeFor[Config](): names(configFields[1:]), reflect.TypeFor[Keys](): names(keysFields), reflect.TypeFor[KeyRing](): names(ringFields),
		reflect.TypeFor[Key](): names(keyFields), reflect.TypeFor[Policy](): names(policyFields), reflect.TypeFor[Cookie](): names(cookieFields),
		reflect.TypeFor[Cache](): names(cacheFields), reflect.TypeFor[Revocation](): names(revocationFields),
	}
	met := map[reflect.Type]bool{}
	walkTypes(reflect.TypeFor[Config](), met)
	for typ := range met {
		var want []string
		for i := range typ.NumField() {
			want = append(want, jsonName(typ.Field(i)))
		}
		if !reflect.DeepEqual(tables[typ], want) {
			t.Errorf("%s: the table has %q, the type %q", typ, tables[typ], want)
		}
	}
	if len(met) != len(tables) || len(met) != len(structTypes) {
		t.Errorf("%d types, %d tables, %d types in the schema's list", len(met), len(tables), len(structTypes))
	}
}

// walkTypes notes every struct type that a value of the type may hold.
func walkTypes(t reflect.Type, met map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		walkTypes(t.Elem(), met)
	case reflect.Struct:
		if met[t] {
			return
		}
		met[t] = true
		for i := range t.NumField() {
			walkTypes(t.Field(i).Type, met)
		}
	}
}

// For every field there is a valid document that means something else without it: the field is read, and not
// thrown away.
func TestEveryFieldHasAnEffect(t *testing.T) {
	effects := map[string]bool{}
	for _, name := range files(t, "testdata/valid/*.json", 25) {
		noteEffects(t, read(t, name), effects)
	}
	for _, path := range fieldPaths(reflect.TypeFor[Config](), "") {
		if !effects[path] {
			t.Errorf("%s has no effect", path)
		}
	}
}

// noteEffects takes one field after the other out of a document.
func noteEffects(t *testing.T, text string, effects map[string]bool) {
	all, errs := Parse(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, at := range places(decodeAny(t, text), nil) {
		name, ok := at[len(at)-1].(string)
		if !ok {
			continue
		}
		doc := decodeAny(t, text)
		delete(get(doc, at[:len(at)-1]).(map[string]any), name)
		if without, _ := Parse(encodeAny(t, doc)); !reflect.DeepEqual(without, all) {
			effects[fieldPath(at)] = true
		}
	}
}

func fieldPath(at []any) (path string) {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			path += "." + step
		case int:
			path += "[]"
		}
	}
	return path[1:]
}

// fieldPaths lists the paths of all fields below a type: policies, policies[].cookie, policies[].cookie.path.
func fieldPaths(t reflect.Type, at string) (paths []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldPaths(t.Elem(), at)
	case reflect.Slice:
		return fieldPaths(t.Elem(), at+"[]")
	case reflect.Struct:
		for i := range t.NumField() {
			path := strings.TrimPrefix(at+"."+jsonName(t.Field(i)), ".")
			paths = append(append(paths, path), fieldPaths(t.Field(i).Type, path)...)
		}
	}
	return paths
}

// The setters store in the field that their name says: what Marshal, which goes by the tags, writes back is
// the same document.
func TestEveryFieldIsStoredInItsPlace(t *testing.T) {
	text := read(t, "testdata/valid/everything.json.golden")
	c, errs := Parse(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got, err := encode(wireConfigOf(c))
	if err != nil || string(got) != text {
		t.Errorf("written back as %s, %v", got, err)
	}
}
