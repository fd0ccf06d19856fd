package precedence

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// sessionSchemas gives the schema of spec in our CRD, and the text of its rules.
func sessionSchema(t *testing.T) (spec apiextensionsv1.JSONSchemaProps, rules string) {
	t.Helper()
	for _, text := range api.CRDs() {
		if !bytes.Contains(text, []byte("kind: SessionPersistencePolicy\n")) {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		spec = crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for _, r := range spec.XValidations {
			rules += r.Rule + "\n"
		}
	}
	return spec, rules
}

// TestUnsetNames holds the CRD's list of fields that can be taken away, and its rule against fields that are written as
// well, to the table.
func TestUnsetNames(t *testing.T) {
	spec, rules := sessionSchema(t)
	var inCRD []string
	for _, v := range spec.Properties["unset"].Items.Schema.Enum {
		inCRD = append(inCRD, strings.Trim(string(v.Raw), `"`))
	}
	slices.Sort(inCRD)
	want := slices.Sorted(slices.Values(unsetNames))
	if !slices.Equal(inCRD, want) {
		t.Errorf("compiler/api/v1alpha1/unset.go has %v, the table has %v", inCRD, want)
	}
	for _, name := range unsetNames {
		if !strings.Contains(rules, "'"+name+"' in self.unset && (") {
			t.Errorf("no rule of the CRD says that %s may not be written and unset", name)
		}
	}
}

func TestCheckUnset(t *testing.T) {
	name, epoch := v1alpha1.SessionName("cart"), int64(1)
	for _, c := range []struct {
		settings sessionSettings
		want     string
	}{
		{sessionSettings{Unset: []v1alpha1.FieldPath{"idleTimeout", "cookie"}}, ""},
		{sessionSettings{Unset: []v1alpha1.FieldPath{"type"}}, `spec.unset[0]: Unsupported value: "type": supported values: sessionName, `},
		{sessionSettings{Unset: []v1alpha1.FieldPath{"cookie.nam"}}, `spec.unset[0]: Unsupported value: "cookie.nam"`},
		{sessionSettings{Unset: []v1alpha1.FieldPath{"forward", "forward"}}, `spec.unset[1]: Duplicate value: "forward"`},
		{sessionSettings{SessionName: &name, Unset: []v1alpha1.FieldPath{"forward", "sessionName"}}, "spec.unset[1]: Forbidden: may not name a field that is written next to it"},
		{sessionSettings{Revocation: &v1alpha1.Revocation{Epoch: &epoch}, Unset: []v1alpha1.FieldPath{"revocation"}}, "spec.unset[0]: Forbidden: may not name"},
	} {
		got := ""
		if errs := checkUnset(&SettingsBlock{Path: "spec", Settings: &c.settings}); len(errs) > 0 {
			got = errs[0].Error()
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%v: got %q, want %q", c.settings.Unset, got, c.want)
		}
	}
}

// TestUnsetConflict holds that taking a field away conflicts, on one level, with writing it.
func TestUnsetConflict(t *testing.T) {
	idle := v1alpha1.Duration("5m")
	at := func(name string, s sessionSettings) SettingsBlock {
		return SettingsBlock{Level: 10, Origin: object.Origin{Ref: object.Ref{Kind: "SessionPersistencePolicy", Namespace: "shop", Name: name}}, Path: "spec", Settings: &s}
	}
	e := Merge([]SettingsBlock{at("a", sessionSettings{Unset: []v1alpha1.FieldPath{"idleTimeout"}}), at("b", sessionSettings{IdleTimeout: &idle})})
	if f := e.Field("idleTimeout"); !f.Unset || len(e.Conflicts) != 1 {
		t.Fatalf("%+v, conflicts %+v", f, e.Conflicts)
	}
	if got := e.Conflicts[0].Message(); got != "spec.idleTimeout: conflicts with SessionPersistencePolicy shop/a, which comes first by name and takes the field away" {
		t.Error(got)
	}
}
