package policyconfig

import (
	"strings"
	"testing"
)

// TestSchemaField: a document may say to an editor where the schema is, and nothing else of that kind.
func TestSchemaField(t *testing.T) {
	const rest = `"version":"limpet.dev/v1","policies":[]}`
	s := compileSchema(t, "")
	for text, want := range map[string]string{
		`{"$schema":"./schema.json",` + rest: "",
		`{"$schema":7,` + rest:               "$schema: Invalid value",
		`{"$shema":"./schema.json",` + rest:  `$shema`,
	} {
		_, errs := Parse(text)
		if (want == "") != (len(errs) == 0) || !strings.Contains(errs.Error(), want) {
			t.Errorf("%s: %v, want %q", text, errs, want)
		}
		if err := bySchema(s, text); (want == "") != (err == nil) {
			t.Errorf("%s: by the schema %v", text, err)
		}
	}
}
