package main

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// sample is an observation that has something of all sorts.
func sample(t *testing.T) *observation {
	t.Helper()
	statuses, err := parseStatuses([]byte(`kind: HTTPRoute
metadata: {name: cart, namespace: shop}
status: {parents: [{conditions: [{type: Accepted, status: "True", reason: Accepted, message: not carried to istio}]}]}
---
kind: Gateway
metadata: {name: web, namespace: infra}
status: {listeners: [{name: http}]}
`))
	if err != nil || len(statuses) != 2 {
		t.Fatal(statuses, err)
	}
	var described any
	text := "sessions: [{value: Cookie, rung: 7, beats: [{rung: 9, line: 3}]}]"
	if err := yaml.Unmarshal([]byte(text), &described); err != nil {
		t.Fatal(err)
	}
	missing := problemKey{"HTTPRoute shop/cart", "Warning", "BackendNotFound", "in.yaml", 12, "spec.rules[0]"}
	advice := problemKey{"HTTPRoute shop/cart", "Advice", "", "in.yaml", 3, "spec.rules[0]"}
	return &observation{
		files: map[string][]byte{"envoy.yaml": []byte("a: 1\nb: 2\n"), "plugin.json": []byte("{}\n")},
		problems: []problem{
			{advice, "not carried to istio: retries"}, {missing, "no Service cart"}, {missing, "no Service shop"},
		},
		statuses: statuses,
		descriptions: map[string]description{
			"HTTPRoute/shop/cart": {0, renameKeys(described)},
			"Gateway/a":           {1, nil},
		},
	}
}

// dig gives what stands in a value at a path of names and numbers.
func dig(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch at := step.(type) {
		case string:
			value = value.(map[string]any)[at]
		case int:
			value = value.([]any)[at]
		}
	}
	if value == nil {
		t.Fatalf("there is nothing at %v", path)
	}
	return value
}

// variation is one thing that the new limpet makes otherwise, and what then differs.
type variation struct {
	name   string
	change func(*observation)
	want   string
}

// expectDifferences compares the sample with itself after each change.
func expectDifferences(t *testing.T, variations []variation) {
	t.Helper()
	table := readWords(t, "carried to\tsupported by\n")
	for _, c := range variations {
		t.Run(c.name, func(t *testing.T) {
			now := sample(t)
			c.change(now)
			got := compare(sample(t), now, table)
			var what []string
			for _, d := range got.differences {
				what = append(what, d.what)
			}
			for range got.reworded {
				what = append(what, "(reworded)")
			}
			if got := strings.Join(what, ", "); got != c.want {
				t.Errorf("%s differs, want %s", got, c.want)
			}
		})
	}
}

func TestCompareFiles(t *testing.T) {
	expectDifferences(t, []variation{
		{"nothing", func(*observation) {}, ""},
		{"a byte", func(o *observation) { o.files["envoy.yaml"][3] = '2' }, "configuration envoy.yaml"},
		{"a line's end", func(o *observation) { o.files["plugin.json"] = []byte("{}") }, "configuration plugin.json"},
		{"one missing", func(o *observation) { delete(o.files, "plugin.json") }, "configuration plugin.json"},
		{"all missing", func(o *observation) { o.files = nil }, "configuration envoy.yaml, configuration plugin.json"},
		{"one more", func(o *observation) { o.files["x"] = nil }, "configuration x"},
		{"an exit code", func(o *observation) { o.compiled.Code = 1 }, "exit code of compile"},
		{"a check's exit code", func(o *observation) { o.checked.Code = 1 }, "exit code of check"},
	})
}

func TestCompareProblems(t *testing.T) {
	expectDifferences(t, []variation{
		{"a path", func(o *observation) { o.problems[0].Path = "spec.rules[1]" }, "problem, problem"},
		{"an object", func(o *observation) { o.problems[0].Object = "Gateway a/b" }, "problem, problem"},
		{"a reason", func(o *observation) { o.problems[1].Reason = "Invalid" }, "problem, problem"},
		{"a verdict", func(o *observation) { o.problems[0].Verdict = "Warning" }, "problem, problem"},
		{"a line", func(o *observation) { o.problems[0].Line++ }, "problem, problem"},
		{"one missing", func(o *observation) { o.problems = o.problems[1:] }, "problem"},
		{"one of two of one place missing", func(o *observation) { o.problems = o.problems[:2] }, "problem"},
		{"one twice", func(o *observation) { o.problems = append(o.problems, o.problems[0]) }, "problem"},
		{"all missing", func(o *observation) { o.problems = nil }, "problem, problem"},
		{"the order", func(o *observation) { slices.Reverse(o.problems) }, ""},
		{"known words", func(o *observation) { o.problems[0].Message = "not supported by istio: retries" }, ""},
		{"other words", func(o *observation) { o.problems[2].Message = "shop is no Service" }, "(reworded)"},
	})
}

func TestCompareStatuses(t *testing.T) {
	const status, gateway = "status of HTTPRoute shop/cart", "status of Gateway infra/web"
	set := func(name string, value any) func(*observation) {
		return func(o *observation) {
			dig(t, o.statuses[0], "status", "parents", 0, "conditions", 0).(map[string]any)[name] = value
		}
	}
	expectDifferences(t, []variation{
		{"a reason", set("reason", "Pending"), status},
		{"a status", set("status", "False"), status},
		{"a sort of value", set("status", true), status},
		{"known words", set("message", "not supported by istio"), ""},
		{"other words", set("message", "no"), status},
		{"a field more", set("x", ""), status},
		{"a field missing", func(o *observation) { delete(o.statuses[1].(map[string]any), "status") }, gateway},
		{"one missing", func(o *observation) { o.statuses = o.statuses[:1] }, "status"},
		{"one more", func(o *observation) { o.statuses = append(o.statuses, "x") }, "status"},
		{"the order", func(o *observation) { slices.Reverse(o.statuses) }, status + ", " + gateway},
	})
}

func TestCompareDescriptions(t *testing.T) {
	const name = "HTTPRoute/shop/cart"
	set := func(value any, path ...any) func(*observation) {
		return func(o *observation) {
			last := len(path) - 1
			dig(t, o.descriptions[name].value, path[:last]...).(map[string]any)[path[last].(string)] = value
		}
	}
	expectDifferences(t, []variation{
		{"a value", set("Header", "sessions", 0, "value"), "description of " + name},
		{"what is overridden", set(4.0, "sessions", 0, "overrides", 0, "line"), "description of " + name},
		{"nothing overridden", set([]any{}, "sessions", 0, "overrides"), "description of " + name},
		{"a key without its new name", set(7.0, "sessions", 0, "rung"), "description of " + name},
		{"one missing", func(o *observation) { o.descriptions[name] = description{code: 1} }, "description of " + name},
		{"one more", func(o *observation) { o.descriptions["Gateway/a"] = description{} }, "description of Gateway/a"},
	})
}

// TestCompareErrors shows that what is said and not reported is no difference, but is shown.
func TestCompareErrors(t *testing.T) {
	old := &observation{compiled: reply{Code: 1, Stderr: []byte("limpet: no room\nmore\n")}}
	now := &observation{compiled: reply{Code: 1, Stderr: []byte("limpet: no space\nmore\n")}}
	got := compare(old, now, readWords(t, ""))
	want := []rewording{{"limpet: no room", "limpet: no space"}}
	if len(got.differences) > 0 || !slices.Equal(got.reworded, want) {
		t.Errorf("%+v, want %v", got, want)
	}
}

func readWords(t *testing.T, table string) wordTable {
	t.Helper()
	w, err := parseWords(table)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestDiffLines(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"a\nb\nc\n", "a\nx\nc\n", "line 2\n- b\n- c\n- \n+ x\n+ c\n+ "},
		{"a\n", "a", "line 2\n- "},
		{"a", "a\nb", "line 2\n+ b"},
		{"a\nb\nc\nd\ne", "x", "line 1\n- a\n- b\n- c\n+ x"},
	} {
		if got := diffLines(c.old, c.now); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.old, c.now, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	table := readWords(t, "# comment\n\ncarried\tsupported\nretry\tretry budget\nnobody's \t\n")
	for _, c := range []struct {
		old, now string
		want     bool
	}{
		{"not carried to istio", "not supported to istio", true},
		{"not carried to istio", "not carried to istio", true},
		{"not carried, carried", "not carried, supported", true},
		{"no retry here", "no retry budget here", true}, // the new word holds the old one
		{"in nobody's way", "in way", true},
		{"not carried to istio", "not taken to istio", false},
		{"not supported", "not carried", true}, // both sides are taken to the new words
		{"carried", "supported ", false},
		{"", "supported", false},
	} {
		if got := table.equal(c.old, c.now); got != c.want {
			t.Errorf("%q and %q: equal %v, want %v", c.old, c.now, got, c.want)
		}
	}
	for _, bad := range []string{"carried supported\n", "\tsupported\n", "a\tb\tc\n"} {
		if _, err := parseWords(bad); err == nil {
			t.Errorf("%q is taken as a table", bad)
		}
	}
	if _, err := parseWords(wordFile); err != nil {
		t.Error(err)
	}
}

func TestParseStatuses(t *testing.T) {
	statuses, err := parseStatuses([]byte(`a: [{lastTransitionTime: "2020-01-01T00:00:00Z"}]
---
b: {lastTransitionTime: "` + began.Format("2006-01-02T15:04:05Z07:00") + `"}
`))
	if err != nil || len(statuses) != 2 {
		t.Fatal(statuses, err)
	}
	if got := dig(t, statuses[0], "a", 0, "lastTransitionTime"); got != "2020-01-01T00:00:00Z" {
		t.Errorf("another controller's time became %v", got)
	}
	if got := dig(t, statuses[1], "b", "lastTransitionTime"); got != "now" {
		t.Errorf("the time of this run stays: %v", got)
	}
	if _, err := parseStatuses([]byte("a: [")); err == nil {
		t.Error("broken YAML is taken as statuses")
	}
}
