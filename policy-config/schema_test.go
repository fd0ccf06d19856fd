package policyconfig

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// beyondSchema lists the invalid documents that schema.json lets through, each with what JSON Schema cannot
// say. All others it must refuse, and these it must not: a rule that it learns leaves the list.
var beyondSchema = map[string]string{
	"cookie-attributes-duplicate.json":       "two items may not have the same beginning",
	"duplicate-fields.json":                  "JSON parsers keep one of them unseen",
	"duration-not-whole-seconds.json":        "a sum of parts",
	"duration-too-long.json":                 "a sum of parts",
	"half-surrogate.json":                    "JSON parsers replace it unseen",
	"not-utf8.json":                          "JSON parsers replace it unseen",
	"idle-longer-than-absolute.json":         "a comparison of two fields",
	"keys-ring-date.json":                    "a comparison of two fields",
	"keys-sealed-spare-bits.json":            "base64 of whole bytes",
	"name-duplicate.json":                    "a comparison between policies",
	"numbers-not-whole.json":                 "for JSON Schema 25.0 is an integer",
	"route-and-cluster-of-two-policies.json": "a comparison between policies",
	"route-of-two-policies.json":             "a comparison between policies",
	"route-with-and-without-clusters.json":   "a comparison between policies",
	"session-header-ends-session.json":       "a comparison of two fields",
	"session-header-is-pin.json":             "a comparison of two fields",
}

// compileSchema has the schema that the types make now: schema.json is that one (TestSchemaIsCurrent), but where a new
// field is just being written into it.
func compileSchema(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(generateSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// bySchema is what the schema says about a text.
func bySchema(s *jsonschema.Schema, text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestSchemaTakesWhatIsValid(t *testing.T) {
	s := compileSchema(t, "")
	for _, name := range append(files(t, "testdata/valid/*.json", 25), files(t, "testdata/valid/*.golden", 25)...) {
		if err := bySchema(s, read(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	ring := compileSchema(t, "#/$defs/keyRing")
	for _, name := range files(t, "testdata/ring/valid/*.json", 3) {
		if err := bySchema(ring, read(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesWhatIsInvalid(t *testing.T) {
	s := compileSchema(t, "")
	met := 0
	for _, name := range files(t, "testdata/invalid/*.json", 80) {
		why := beyondSchema[filepath.Base(name)]
		if why != "" {
			met++
		}
		if err := bySchema(s, read(t, name)); (err == nil) != (why != "") {
			t.Errorf("%s: the schema says %v; beyond it: %q", name, err, why)
		}
	}
	if met != len(beyondSchema) {
		t.Errorf("%d of the %d documents in the list exist", met, len(beyondSchema))
	}
}

// otherProbes are values for fields of every type, stringProbes for those that take a string.
var (
	otherProbes = []any{
		nil, true, false, json.Number("0"), json.Number("1"), json.Number("99"), json.Number("100"), json.Number("-1"), json.Number("399"),
		json.Number("400"), json.Number("599"), json.Number("600"), json.Number("4294967295"), json.Number("4294967296"), json.Number("0.5"), "", "a",
		[]any{},
		[]any{"a"},
		[]any{"a", "b"},
		[]any{"a", "a"},
		[]any{""},
		[]any{json.Number("1")},
		map[string]any{},
		map[string]any{"a": "b"},
	}
	stringProbes = makeStringProbes()
)

func makeStringProbes() (values []any) {
	texts := []string{
		"limpet.dev/v1", "Cookie", "Header", "Session", "Permanent", "Strict", "Lax", "None", "Rebalance", "RebalanceWithin", "Fail", "Any", "TLS", "Keep", "Private",
		"NoStore", "/", "/cart", "a.example", "-a", "a-", "a..b", ".a", "a=b", "a=", "a= ", "a=b c", "=b", "1h", "0s", "1h30m", "1d", "2026-11-21T08:00:00Z",
		"2026-11-21T24:00:00Z", "2026-11-21", "A_1", "1A", "x-cart", "X-Cart", "x-", "é", "a b", "\u0080", "\u00a0", "😀", "__Host-a", "__Http-a", "__secure-a",
		strings.Repeat("QUFB", 10) + "QUE", strings.Repeat("QUFB", 14), strings.Repeat("QUFB", 43),
	}
	for c := range rune(0x80) {
		texts = append(texts, string(c), "/x"+string(c)+"x", "a="+string(c))
	}
	for _, own := range ownAttributes {
		texts = append(texts, own, strings.ToUpper(own)+"=x", own+"x")
	}
	for _, group := range reservedHeaders {
		for _, name := range group.names {
			texts = append(texts, name, strings.ToUpper(name)+"x", strings.TrimSuffix(name, "-"))
		}
	}
	for _, n := range []int{64, 65, 128, 129, 253, 254, 256, 257, 512, 513, 1024, 1025} {
		texts = append(texts, strings.Repeat("a", n), strings.Repeat("é", n), "/"+strings.Repeat("a", n-1))
	}
	for _, s := range texts {
		values = append(values, s)
	}
	return values
}

// TestSchemaAgreesWithParse gives every field of a document that has nearly all of them every probe, and wants
// the same answer from the schema as from Parse, except where noted. The other documents are there for the rest.
func TestSchemaAgreesWithParse(t *testing.T) {
	s := compileSchema(t, "")
	for base, only := range map[string]string{"everything": "", "header": "sessionName", "keys-from-env": "fromEnv", "keys-sealed": "sealed"} {
		doc := decodeAny(t, read(t, "testdata/valid/"+base+".json.golden"))
		for _, at := range places(doc, nil) {
			if only == "" || only == at[len(at)-1] {
				testProbes(t, s, doc, at)
			}
		}
	}
}

func testProbes(t *testing.T, s *jsonschema.Schema, doc any, at []any) {
	old := get(doc, at)
	probes := otherProbes
	if _, ok := old.(string); ok {
		probes = append(otherProbes[:len(otherProbes):len(otherProbes)], stringProbes...)
	}
	for _, probe := range probes {
		put(doc, at, probe)
		_, errs := Parse(encodeAny(t, doc))
		if bad := s.Validate(doc); (len(errs) == 0) != (bad == nil) && !schemaCannotSay(errs) {
			t.Errorf("%v = %.60q\nParse: %v\nschema: %v", at, probe, errs, bad)
		}
	}
	put(doc, at, old)
}

// schemaCannotSay reports whether every error is of a sort that the list above has.
func schemaCannotSay(errs ErrorList) bool {
	for _, e := range errs {
		known := false
		for _, part := range []string{"longer than absoluteTimeout", "must be whole seconds", "at most 1h", "base64", "must be after notBefore", "pin header", "the session's own header", "held by", "sealed ring"} {
			known = known || strings.Contains(e.Message, part)
		}
		if !known {
			return false
		}
	}
	return len(errs) > 0
}

func decodeAny(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func encodeAny(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// places lists the way to every value of a document, except the root.
func places(v any, at []any) [][]any {
	var all [][]any
	visit := func(step, child any) {
		here := append(append([]any{}, at...), step)
		all = append(append(all, here), places(child, here)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			visit(name, child)
		}
	case []any:
		for i, child := range v {
			visit(i, child)
		}
	}
	return all
}

func get(v any, at []any) any {
	for _, step := range at {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// put replaces the value at a place.
func put(v any, at []any, value any) {
	last := at[len(at)-1]
	switch holder := get(v, at[:len(at)-1]).(type) {
	case map[string]any:
		holder[last.(string)] = value
	case []any:
		holder[last.(int)] = value
	}
}
