package policyconfig

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
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

// TestDocumentedFields holds that the page's tables are what the types, their comments and the schema make of them.
func TestDocumentedFields(t *testing.T) {
	const begin, end = "<!-- fields -->\n", "<!-- end of fields -->\n"
	page := read(t, referencePage)
	before, rest, found := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatal(referencePage + " has no place for the tables of fields")
	}
	var doc struct {
		Defs map[string]fieldSchema `json:"$defs"`
		fieldSchema
	}
	if err := json.Unmarshal(generateSchema(t), &doc); err != nil {
		t.Fatal(err)
	}
	var tables strings.Builder
	written := map[string]bool{}
	for _, table := range []struct{ title, def string }{
		{"The document", ""},
		{"`keys`", "keys"},
		{"`keys.ring`", "keyRing"},
		{"`keys.ring.keys[]`", "key"},
		{"`policies[]`", "policy"},
		{"`policies[].cookie`", "cookie"},
		{"`policies[].cache`", "cache"},
		{"`policies[].revocation`", "revocation"},
	} {
		object := doc.Defs[table.def]
		if table.def == "" {
			object = doc.fieldSchema
		}
		written[table.def] = true
		fmt.Fprintf(&tables, "\n### %s\n\n| field | type | default | limits | meaning |\n|---|---|---|---|---|\n", table.title)
		for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
			f := object.Properties[name]
			fmt.Fprintf(&tables, "| `%s` | %s | %s | %s | %s |\n", name, f.typeName(doc.Defs),
				f.defaultText(doc.Defs, slices.Contains(object.Required, name)), f.limits(doc.Defs), strings.ReplaceAll(f.Description, "|", "\\|"))
		}
	}
	for name, object := range doc.Defs {
		if object.Properties != nil && !written[name] {
			t.Errorf("there is no table for %s", name)
		}
	}
	golden(t, referencePage, before+begin+tables.String()+"\n"+end+after)
}

// fieldSchema is what the test reads of schema.json.
type fieldSchema struct {
	Ref         string                 `json:"$ref"`
	Description string                 `json:"description"`
	Type        string                 `json:"type"`
	Enum        []string               `json:"enum"`
	Default     json.RawMessage        `json:"default"`
	Items       *fieldSchema           `json:"items"`
	Properties  map[string]fieldSchema `json:"properties"`
	Required    []string               `json:"required"`
	Minimum     *int64                 `json:"minimum"`
	Maximum     *int64                 `json:"maximum"`
	MinLength   *int64                 `json:"minLength"`
	MaxLength   *int64                 `json:"maxLength"`
	MinItems    *int64                 `json:"minItems"`
	MaxItems    *int64                 `json:"maxItems"`
}

func (f fieldSchema) target(defs map[string]fieldSchema) (fieldSchema, string) {
	name := strings.TrimPrefix(f.Ref, "#/$defs/")
	if f.Ref == "" {
		return f, ""
	}
	return defs[name], name
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

// limits are how long a text or a list may be, or how large a number.
func (f fieldSchema) limits(defs map[string]fieldSchema) string {
	target, _ := f.target(defs)
	text := limit(target.MinItems, target.MaxItems) + limit(target.Minimum, target.Maximum) + limit(target.MinLength, target.MaxLength)
	if f.Items != nil && f.Items.MaxLength != nil {
		text += ", each " + limit(f.Items.MinLength, f.Items.MaxLength)
	}
	return text
}

func limit(least, most *int64) string {
	switch {
	case most == nil:
		return ""
	case least == nil:
		return fmt.Sprintf("at most %d", *most)
	default:
		return fmt.Sprintf("%d to %d", *least, *most)
	}
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
		fmt.Sprintf("More than %d errors", maxErrors), fmt.Sprintf("%d to %d bytes", MinSecret, MaxSecret), "At most " + MaxDuration.String(), "At most " + skewRange.max.String(),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
