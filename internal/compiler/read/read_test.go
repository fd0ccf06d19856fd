package read

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

func readAll(t *testing.T, name, text string) ([]*Document, report.Errors) {
	t.Helper()
	rep := &report.Report{}
	docs := ParseDocuments([]Source{{Name: name, Data: []byte(text)}}, rep)
	return docs, rep.Errors(false)
}

// TestValues holds the reader to kubectl's: YAML 1.1 with a few additions, as JSON.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"a: text":                          `{"a":"text"}`,
		"a: on\nb: 'on'\nc: Off\nd: y":     `{"a":true,"b":"on","c":false,"d":true}`,
		"a: True\nb: FALSE\nc: tRUE":       `{"a":true,"b":false,"c":"tRUE"}`,
		"a: 010\nb: 0x10\nc: 0o10\nd: 1_0": `{"a":8,"b":16,"c":8,"d":10}`,
		"a: 80.0\nb: 1.5\nc: 1e3":          `{"a":80,"b":1.5,"c":1000}`,
		"a: 9223372036854775807":           `{"a":9223372036854775807}`,
		"a: 99999999999999999999":          `{"a":100000000000000000000}`,
		"a: 2026-01-02T03:04:05Z":          `{"a":"2026-01-02T03:04:05Z"}`,
		"a: ~\nb:\nc: null":                `{"a":null,"b":null,"c":null}`,
		"a: !!str 1\nb: !!int '2'":         `{"a":"1","b":2}`,
		"1: a\ntrue: b":                    `{"1":"a","true":"b"}`,
		"a: &x [1]\nb: *x":                 `{"a":[1],"b":[1]}`,
		"a: &x {k: 1}\nb: {<<: *x, l: 2}":  `{"a":{"k":1},"b":{"k":1,"l":2}}`,
		"b: {k: 2, <<: {k: 1}}":            `{"b":{"k":2}}`,
		"\ufeffa: bom":                     `{"a":"bom"}`,
		"a: one\r\nb: two\r\n":             `{"a":"one","b":"two"}`,
		"%YAML 1.1\n---\na: 1":             `{"a":1}`,
		"{\"a\": \"\\ud83d\\udc1a \\/\"}":  `{"a":"🐚 /"}`,
	} {
		docs, errs := readAll(t, "a.yaml", text)
		if len(docs) != 1 || len(errs) > 0 {
			t.Errorf("%q: %d documents, %v", text, len(docs), errs)
			continue
		}
		if got, err := json.Marshal(docs[0].Fields); err != nil || string(got) != want {
			t.Errorf("%q: got %s (%v), want %s", text, got, err, want)
		}
	}
}

// TestLines asks for the lines of fields in files of every form. The field's line is that of its key.
func TestLines(t *testing.T) {
	const block = "# comment\nkind: A\nspec:\n  list:\n  - name: x\n    deep: 1\n  - name: y\n  map: {a: 1,\n    b: 2}\n  labels:\n    a.b/c: v\n"
	for _, c := range []struct {
		file, text, path string
		want             int
	}{
		{"a.yaml", block, "", 2},
		{"a.yaml", block, "spec", 3},
		{"a.yaml", block, "spec.list[0].deep", 6},
		{"a.yaml", block, "spec.list[1].name", 7},
		{"a.yaml", block, "spec.list[1].gone.far", 7},
		{"a.yaml", block, "spec.list[7]", 4},
		{"a.yaml", block, "spec.map.b", 9},
		{"a.yaml", block, "spec.labels[a.b/c]", 11},
		{"a.yaml", "kind: B\n---\n\n" + block, "spec.list[0].deep", 9},
		{"a.yaml", "a: &x\n  b: 1\nspec: *x\n", "spec.b", 2},
		{"a.yaml", "kind: List\nitems:\n- kind: A\n  spec:\n    x: 1\n", "spec.x", 5},
		{"a.json", "{\"kind\": \"A\",\n \"spec\": {\n  \"list\": [1,\n   2]}}", "spec.list[1]", 4},
		{"a.json", "{\"kind\": \"A\"}\n\n{\"kind\": \"B\",\n\"spec\": {}}", "spec", 4},
	} {
		docs, errs := readAll(t, c.file, c.text)
		if len(docs) == 0 || len(errs) > 0 {
			t.Errorf("%q: %v", c.text, errs)
			continue
		}
		if file, line := docs[len(docs)-1].Locate(c.path); file != c.file || line != c.want {
			t.Errorf("%q, %s: line %d, want %d", c.text, c.path, line, c.want)
		}
	}
}

// TestFaultLines asks for the lines of what is broken, in the file and not in the document.
func TestFaultLines(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [\n":                                                "a.yaml:2: broken YAML: did not find expected node content",
		"a: 1\n---\nb: 1\n  c: 2\n":                                   "a.yaml:4: broken YAML: mapping values are not allowed in this context: this line, or the one before, is not indented as the lines that it belongs to",
		"a: 1\n---\nb: 1\nb: 2\n":                                     `a.yaml:4: b: Duplicate value: "b": the key is there twice`,
		"a: {{ .Values.a }}\n":                                        "a.yaml:1: a: a key must be a string; if it is a template, let what it belongs to fill it in first, such as 'helm template'",
		"{{- if .Values.a }}\na: 1\n{{ end }}\n":                      "a.yaml:1: broken YAML: did not find expected node content; if it is a template, let what it belongs to fill it in first, such as 'helm template'",
		"a: \"x\n\ty\"\n---\n\ta: 1\n":                                "a.yaml:4: broken YAML: a tab is indentation here: YAML takes spaces alone",
		"---\n# one\n---\nx: {a: 1}}\n":                               "a.yaml:4: broken YAML: did not find expected key",
		"# one\n---\nx: {a: 1\ny: 2\n---\nz: 1":                       "a.yaml:3: broken YAML: did not find expected ',' or '}'",
		"a:\n  b: 1\n c: 2\n":                                         "a.yaml:3: broken YAML: did not find expected key: the line is not indented as the lines that it belongs to",
		"x: 1\n---\nx: 1\na:\n  b: 1\n  c: 2\n  d: 3\n e: 4\nf: 5\n":  "a.yaml:8: broken YAML: did not find expected key: the line is not indented as the lines that it belongs to",
		"x: 1\na:\n  - b: 1\n    c: 2\n  - d: 3\n    e: 4\n   f: 5\n": "a.yaml:7: broken YAML: did not find expected '-' indicator: the line is not indented as the lines that it belongs to",
		"a: b: c\nd: e: f\n":                                          `a.yaml:1: broken YAML: mapping values are not allowed in this context: a text with ": " in it takes quotes`,
		"a: b\n...\nc: d\n":                                           "a.yaml:3: broken YAML: did not find expected <document start>",
		"apiVersion: v1\napiVersion: v1\n":                            `a.yaml:2: apiVersion: Duplicate value: "apiVersion": the key is there twice; if another object begins here, write a line --- before it`,
		"a:\n  apiVersion: v1\n  apiVersion: v1\n":                    `a.yaml:3: a.apiVersion: Duplicate value: "apiVersion": the key is there twice`,
		"a:\n  m.n/o:\n    k: 1\n    k: 2\n":                          `a.yaml:4: a[m.n/o].k: Duplicate value: "k": the key is there twice`,
		"kind: List\nitems:\n- a: 1\n- b\n":                           "a.yaml:4: List: items[1]: must be an object",
	} {
		_, errs := readAll(t, "a.yaml", text)
		if got := errs.Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// TestReleasedDocumentsKeepTheirNames matters for all that is reported after admission.
func TestReleasedDocumentsKeepTheirNames(t *testing.T) {
	docs, _ := readAll(t, "a.yaml", "kind: HTTPRoute\nmetadata: {name: cart, namespace: shop}\nspec: {}\n")
	docs[0].Release()
	if got := docs[0].String(); got != "HTTPRoute shop/cart" {
		t.Errorf("got %q", got)
	}
	if _, line := docs[0].Locate("spec"); line != 3 {
		t.Errorf("got line %d", line)
	}
}

// TestSteps holds the form of paths, which field.Path and the schema validator write.
func TestSteps(t *testing.T) {
	for path, want := range map[string]string{
		"":                         "",
		"spec":                     "spec",
		"spec.rules[0].a[b.c/d].e": "spec|rules|0|a|b.c/d|e",
		"[0][1]":                   "0|1",
		"a..b":                     "a|b",
		"a[b":                      "a|b",
	} {
		if got := strings.Join(splitPath(path), "|"); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
}
