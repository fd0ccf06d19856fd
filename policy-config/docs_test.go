package policyconfig

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const referencePage = "../docs/plugin-config.md"

var codeBlock = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

// blocks are the page's code blocks of one sort, at least so many.
func blocks(t *testing.T, sort string, least int) []string {
	t.Helper()
	var found []string
	for _, m := range codeBlock.FindAllStringSubmatch(read(t, referencePage), -1) {
		if m[1] == sort {
			found = append(found, m[2])
		}
	}
	if len(found) < least {
		t.Fatalf("%d blocks of %q, want at least %d", len(found), sort, least)
	}
	return found
}

func TestDocumentedConfigurations(t *testing.T) {
	s := compileSchema(t, "")
	for _, text := range blocks(t, "json", 2) {
		_, errs := Parse(text)
		if err := bySchema(s, text); len(errs) > 0 || err != nil {
			t.Errorf("%s\n%v\n%v", text, errs, err)
		}
	}
	for _, text := range blocks(t, "json keyring", 1) {
		if _, errs := ParseKeyRing(text); len(errs) > 0 {
			t.Errorf("%s\n%v", text, errs)
		}
	}
}

// The complete example leaves nothing out but what excludes something else.
func TestDocumentedExampleIsComplete(t *testing.T) {
	shown := map[string]bool{}
	for _, at := range places(decodeAny(t, blocks(t, "json", 2)[1]), nil) {
		shown[fieldPath(at)] = true
	}
	for _, path := range fieldPaths(reflect.TypeFor[Config](), "") {
		if !shown[path] && !strings.HasPrefix(path, "keys.") {
			t.Errorf("the complete example has no %s", path)
		}
	}
}

func TestDocumentedEnvoy(t *testing.T) {
	for _, text := range blocks(t, "yaml", 1) {
		var doc any
		if err := yaml.UnmarshalStrict([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		config := ""
		for _, at := range places(doc, nil) {
			if v, ok := get(doc, at).(string); ok && strings.HasSuffix(fieldPath(at), "config.configuration.value") {
				config = v
			}
		}
		if c, errs := Parse(config); len(errs) > 0 || strings.Count(text, c.PinHeader) < 5 || !routeNamed(c.Policies[0].Routes[0]).MatchString(text) {
			t.Errorf("%q: %v", config, errs)
		}
	}
}

// routeNamed matches an Envoy route of that name.
func routeNamed(name string) *regexp.Regexp {
	return regexp.MustCompile(`(- |\{ )name: ` + regexp.QuoteMeta(name) + `[ ,]`)
}

// rows are the rows of the page's tables of fields: path to cells.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	object := "-"
	for line := range strings.Lines(read(t, referencePage)) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
			object = "-"
			if name := strings.Trim(heading, "# `"); name == "The document" {
				object = ""
			} else if strings.Contains(heading, "`") {
				object = name + "."
			}
			continue
		}
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); object != "-" && strings.HasPrefix(cells[0], " `") {
			found[object+strings.Trim(cells[0], " `")] = cells
		}
	}
	return found
}

// Every field has a row, every row a field, and type, default and limits in the row are those of the schema,
// which has them from the code.
func TestDocumentedFields(t *testing.T) {
	documented := rows(t)
	var doc struct {
		Defs map[string]fieldSchema `json:"$defs"`
		fieldSchema
	}
	if err := json.Unmarshal([]byte(read(t, "schema.json")), &doc); err != nil {
		t.Fatal(err)
	}
	walkSchema(doc.fieldSchema, doc.Defs, "", func(path string, f fieldSchema, required bool) {
		cells := documented[path]
		delete(documented, path)
		if len(cells) != 5 {
			t.Errorf("%s: %d cells", path, len(cells))
			return
		}
		if got := strings.TrimSpace(cells[1]); got != f.typeName(doc.Defs) {
			t.Errorf("%s: type %s, want %s", path, got, f.typeName(doc.Defs))
		}
		if got, want := strings.TrimSpace(cells[2]), f.defaultText(doc.Defs, required); got != want && path != "policies[].scope" {
			t.Errorf("%s: default %s, want %s", path, got, want)
		}
		for _, limit := range f.limits(doc.Defs) {
			if !regexp.MustCompile(`\b` + limit + `\b`).MatchString(cells[3]) {
				t.Errorf("%s: limits%s lack %s", path, cells[3], limit)
			}
		}
	})
	for path := range documented {
		t.Errorf("there is no %s", path)
	}
}

// fieldSchema is what the test reads of schema.json.
type fieldSchema struct {
	Ref        string                 `json:"$ref"`
	Type       string                 `json:"type"`
	Enum       []string               `json:"enum"`
	Default    json.RawMessage        `json:"default"`
	Items      *fieldSchema           `json:"items"`
	Properties map[string]fieldSchema `json:"properties"`
	Required   []string               `json:"required"`
	Minimum    *int64                 `json:"minimum"`
	Maximum    *int64                 `json:"maximum"`
	MinLength  *int64                 `json:"minLength"`
	MaxLength  *int64                 `json:"maxLength"`
	MinItems   *int64                 `json:"minItems"`
	MaxItems   *int64                 `json:"maxItems"`
}

func (f fieldSchema) target(defs map[string]fieldSchema) (fieldSchema, string) {
	name := strings.TrimPrefix(f.Ref, "#/$defs/")
	if f.Ref == "" {
		return f, ""
	}
	return defs[name], name
}

func walkSchema(s fieldSchema, defs map[string]fieldSchema, at string, visit func(path string, f fieldSchema, required bool)) {
	for name, f := range s.Properties {
		path := strings.TrimPrefix(at+"."+name, ".")
		visit(path, f, strings.Contains(" "+strings.Join(s.Required, " ")+" ", " "+name+" "))
		below, _ := f.target(defs)
		if f.Items != nil {
			below, _ = f.Items.target(defs)
			path += "[]"
		}
		walkSchema(below, defs, path, visit)
	}
}

func (f fieldSchema) typeName(defs map[string]fieldSchema) string {
	target, name := f.target(defs)
	switch {
	case name == "duration" || name == "time" || name == "secret":
		return name
	case f.Enum != nil:
		quoted := make([]string, len(f.Enum))
		for i, v := range f.Enum {
			quoted[i] = fmt.Sprintf("`%q`", v)
		}
		return "one of " + strings.Join(quoted, ", ")
	case target.Type == "integer":
		return "whole number"
	case f.Items != nil:
		items, _ := f.Items.target(defs)
		return "list of " + items.Type + "s"
	}
	return target.Type
}

func (f fieldSchema) defaultText(defs map[string]fieldSchema, required bool) string {
	target, name := f.target(defs)
	switch {
	case required:
		return "required"
	case target.Type == "object" && name != "keys" && name != "keyRing":
		return "the defaults of its fields"
	case f.Default == nil:
		return "none"
	}
	var compact strings.Builder
	if err := json.NewEncoder(&compact).Encode(f.Default); err != nil {
		return err.Error()
	}
	return "`" + strings.TrimSpace(compact.String()) + "`"
}

// limits are the numbers that the limits column must have.
func (f fieldSchema) limits(defs map[string]fieldSchema) (numbers []string) {
	target, _ := f.target(defs)
	all := []*int64{target.Minimum, target.Maximum, target.MinLength, target.MaxLength, target.MinItems, target.MaxItems}
	if f.Items != nil && f.Items.Ref == "" {
		all = append(all, f.Items.MinLength, f.Items.MaxLength)
	}
	for _, n := range all {
		if n != nil {
			numbers = append(numbers, fmt.Sprint(*n))
		}
	}
	return numbers
}

// The page lists the reserved headers and the refused attributes as the code has them, and the sizes.
func TestDocumentedLists(t *testing.T) {
	page := read(t, referencePage)
	for _, group := range reservedHeaders {
		row := "| " + group.why + " | `" + strings.Join(group.names, "`, `") + "` |"
		if !strings.Contains(page, row) {
			t.Errorf("the page lacks the row\n%s", row)
		}
	}
	for _, want := range []string{
		"`" + strings.Join(ownAttributes, "`, `") + "`", fmt.Sprint(MaxBytes), fmt.Sprint(MaxRingBytes), fmt.Sprintf("nested %d deep", maxDepth),
		fmt.Sprintf("More than %d errors", maxErrors), fmt.Sprintf("%d to %d bytes", MinSecret, MaxSecret), "at most " + MaxDuration.String(), "at most " + skewRange.max.String(),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
