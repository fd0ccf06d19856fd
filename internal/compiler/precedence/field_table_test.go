package precedence

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// leaf is a field of a type that holds no further fields.
type leaf struct {
	path  string // as in JSON
	index []int
}

// listLeaves lists the fields of a structure, down through structures and pointers to them.
func listLeaves(of reflect.Type, path string, index []int) []leaf {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return []leaf{{path, index}}
	}
	var all []leaf
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if of.Field(i).Type == reflect.TypeFor[[]v1alpha1.FieldPath]() {
			continue // says something of fields, and is none
		}
		all = append(all, listLeaves(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."), append(slices.Clone(index), i))...)
	}
	return all
}

// fieldIn gives the field in a value, with every pointer to it set.
func (l leaf) fieldIn(v reflect.Value) reflect.Value {
	for _, i := range l.index {
		v = v.Field(i)
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
	}
	return v
}

// fillField sets a field to something that is neither zero nor a default.
func fillField(v reflect.Value) {
	switch v.Interface().(type) {
	case v1alpha1.Duration:
		v.SetString("7h")
	case v1alpha1.Time:
		v.SetString("2026-11-21T08:00:00Z")
	case []v1alpha1.CookieAttribute:
		v.Set(reflect.ValueOf([]v1alpha1.CookieAttribute{"A"}))
	case []v1alpha1.RevokedSession:
		v.Set(reflect.ValueOf([]v1alpha1.RevokedSession{"0102030405060708"}))
	case []v1alpha1.RevokedHost:
		v.Set(reflect.ValueOf([]v1alpha1.RevokedHost{"10.0.0.1:80 before 2026-11-21T08:00:00Z"}))
	case []v1alpha1.RevokedBackend:
		v.Set(reflect.ValueOf([]v1alpha1.RevokedBackend{"default/cart:80 before 2026-11-21T08:00:00Z"}))
	default:
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int32, reflect.Int64:
			v.SetInt(77)
		default:
			v.SetString("x-value")
		}
	}
}

// fieldsWithSeveralForms are those of SessionSettings that are another form of a field of the table (S7).
var fieldsWithSeveralForms = map[string]string{
	"header.name": fieldName, "absoluteTimeoutSeconds": fieldAbsolute, "idleTimeoutSeconds": fieldIdle,
}

// TestEveryFieldInTable sets each field of SessionSettings by itself and holds that exactly one row reads it, under
// its own path. So a new field can't be forgotten.
func TestEveryFieldInTable(t *testing.T) {
	all := listLeaves(reflect.TypeFor[v1alpha1.SessionSettings](), "", nil)
	if len(all) < 25 {
		t.Fatalf("%d fields", len(all))
	}
	read := map[string]bool{}
	for _, l := range all {
		s := &v1alpha1.SessionSettings{}
		fillField(l.fieldIn(reflect.ValueOf(s).Elem()))
		block := &SettingsBlock{Level: 10, Path: "spec", Settings: s}
		var rows []string
		for i := range fieldTable {
			w, err := fieldTable[i].readBlock(block)
			if err != nil {
				t.Errorf("%s: %v", l.path, err)
			}
			if w != nil {
				rows = append(rows, fieldTable[i].name)
				if w.Path != "spec."+l.path {
					t.Errorf("%s is said to be written at %s", l.path, w.Path)
				}
			}
		}
		want := l.path
		if other := fieldsWithSeveralForms[l.path]; other != "" {
			want = other
		}
		if !slices.Equal(rows, []string{want}) {
			t.Errorf("%s is read by %v", l.path, rows)
		}
		read[want] = true
	}
	if len(read) != len(fieldTable) || len(fieldIndex) != len(fieldTable) {
		t.Errorf("%d rows with %d names, %d of them for a field", len(fieldTable), len(fieldIndex), len(read))
	}
}

// notOffered are the fields of the plugin's policy that no document sets: they come with the rule and its backends, and the version with the options.
var notOffered = []string{"name", "scope", "routes", "clusters", "mirrored", "owners", "leads", "revocation.backends"}

// TestEveryPolicyFieldReached applies each row to a policy of the plugin and holds that it sets the field of its own
// name there, and that all of them together set every field.
func TestEveryPolicyFieldReached(t *testing.T) {
	all := listLeaves(reflect.TypeFor[policyconfig.Policy](), "", nil)
	reached := map[string]bool{}
	s := &v1alpha1.SessionSettings{}
	for _, l := range listLeaves(reflect.TypeFor[v1alpha1.SessionSettings](), "", nil) {
		fillField(l.fieldIn(reflect.ValueOf(s).Elem()))
	}
	*s.Revocation.Epoch = 1<<32 - 1
	for i := range fieldTable {
		row := &fieldTable[i]
		if row.apply == nil {
			if !slices.Contains([]string{fieldDisabled, fieldDrain, fieldKeep, fieldIdentity, fieldRevoked}, row.name) {
				t.Errorf("%s has no effect", row.name)
			}
			continue
		}
		w, err := row.readBlock(&SettingsBlock{Settings: s})
		if err != nil || w.Value == nil {
			t.Fatalf("%s: %v, %v", row.name, w.Value, err)
		}
		blank, changed := policyconfig.Policy{Cookie: &policyconfig.Cookie{}}, policyconfig.Policy{Cookie: &policyconfig.Cookie{}}
		row.apply(&changed, w.Value)
		for _, l := range all {
			before, after := l.fieldIn(reflect.ValueOf(&blank).Elem()), l.fieldIn(reflect.ValueOf(&changed).Elem())
			if reflect.DeepEqual(before.Interface(), after.Interface()) {
				continue
			}
			reached[l.path] = true
			if l.path != row.name || !reflect.DeepEqual(row.builtIn(&changed), w.Value) {
				t.Errorf("%s sets %s to %v", row.name, l.path, after)
			}
		}
	}
	for _, l := range all {
		if reached[l.path] == slices.Contains(notOffered, l.path) {
			t.Errorf("%s: reached is %t", l.path, reached[l.path])
		}
	}
}

// TestDefaults holds what is said to hold where no block writes anything to the plugin's own defaults.
func TestDefaults(t *testing.T) {
	e := Merge([]SettingsBlock{{Level: 10, Path: "spec", Settings: &v1alpha1.SessionSettings{}}})
	got := map[string]string{}
	for _, f := range e.Fields {
		if f.Default != "" {
			got[f.Name] = f.Default
		}
		if f.Name != fieldDisabled && (f.Level != BuiltIn || f.Text != f.Default) {
			t.Errorf("%+v", f)
		}
	}
	want := map[string]string{
		"type": "Cookie", "renewAfterPercent": "25", "cookie.lifetimeType": "Session", "cookie.sameSite": "Strict", "cookie.secure": "true",
		"cookie.httpOnly": "true", "cookie.partitioned": "false", "cookie.crossSite": "false", "onHostLost": "Rebalance", "failStatus": "503", "issueOn": "Any",
		"cache.control": "Keep", "cache.skipCacheable": "false", "cache.unsafeMethodsOnly": "false", "revocation.epoch": "0",
		"revealHost": "false", "envelope": "false", "forward": "true",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	p, d := e.BuildPolicy(PolicyIdentity{SessionName: "a", CookiePath: "/a"}), policyconfig.DefaultPolicy()
	c := policyconfig.DefaultCookie()
	c.Path = "/a"
	d.SessionName, d.Cookie = "a", &c
	if !reflect.DeepEqual(p, d) {
		t.Errorf("%+v", p)
	}
}
