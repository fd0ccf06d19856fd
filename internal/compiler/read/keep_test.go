package read

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// keepCases are a file now and before, with problems about objects at lines, and the objects that are then read, one a line; empty where
// they can't be held alone.
var keepCases = []struct {
	name, file, now, before string
	problems                map[string]int
	want                    string
}{
	{
		"as it was", "a.yaml", "---\nkind: A\nmetadata: {name: x}\nspec: 2\n---\nkind: A\nmetadata: {name: z}\nspec: 2\n",
		"kind: A\nmetadata: {name: x}\nspec: 1\n---\nkind: A\nmetadata: {name: z}\nspec: 1",
		map[string]int{"ns/x": 4},
		"6 A z 2\n11 A x 1\n",
	},
	{"new", "a.yaml", "kind: A\nmetadata: {name: x}\nspec: 2\n---\nkind: A\nmetadata: {name: z}\nspec: 2", "", map[string]int{"ns/x": 3}, "5 A z 2\n"},
	{"all of it", "a.yaml", "kind: A\nmetadata: {name: x}\nspec: 2", "", map[string]int{"/x": 3}, ""},
	{
		"a list", "a.yaml", "# two\nkind: List\nitems:\n- {kind: A, metadata: {name: x}, spec: 2}\n- {kind: A, metadata: {name: z}, spec: 2}\n---\nkind: B\n",
		"kind: A\nmetadata: {name: x}\nspec: 1\n",
		map[string]int{"ns/x": 4},
		"7 B  null\n10 A x 1\n12 A z 2\n",
	},
	{
		"JSON by itself", "a.yaml", `{"kind": "AList", "items": [{"metadata": {"name": "x"}, "spec": 2}, {"metadata": {"name": "z"}}]}`, "",
		map[string]int{"ns/x": 1},
		"3 A z null\n",
	},
	{
		"a file of JSON", "a.json", `{"kind": "A", "metadata": {"name": "x"}, "spec": 2} {"kind": "A", "metadata": {"name": "z"}}`,
		`{"kind": "A", "metadata": {"name": "x"}, "spec": 1}`,
		map[string]int{"ns/x": 1},
		"2 A x 1\n3 A z null\n",
	},
	{"JSON of which nothing is left", "a.json", `{"kind": "A", "metadata": {"name": "x"}}`, "", map[string]int{"ns/x": 1}, "no"},
	{
		"one of two", "a.yaml", "kind: A\nmetadata: {name: x, namespace: n}\n---\nkind: A\nmetadata: {name: x, namespace: m}\n", "",
		map[string]int{"n/x": 2},
		"4 A x null\n",
	},
	{"two of one name", "a.yaml", "kind: List\nitems: [{kind: A, metadata: {name: x}}, {kind: A, metadata: {name: x}}]\n", "", map[string]int{"n/x": 2}, "no"},
	{"another line", "a.yaml", "kind: A\nmetadata: {name: x}\n---\nkind: B\n", "", map[string]int{"n/x": 9}, "no"},
	{
		"cut off", "a.yaml", "kind: A\nmetadata: {name: x}\nspec: 2", "kind: A\nmetadata: {name: x}\n---\nkind: A\nmetadata: {name: z}\n",
		map[string]int{"n/x": 3},
		"no",
	},
}

// TestKeepObjects holds that a file goes on without single objects, or with these as they were, and that all others stay on their lines.
func TestKeepObjects(t *testing.T) {
	for _, c := range keepCases {
		var problems []report.Problem
		for of, line := range c.problems {
			ref := object.Ref{Kind: "A"}
			ref.Namespace, ref.Name, _ = strings.Cut(of, "/")
			problems = append(problems, report.Problem{Ref: ref, Object: of, Line: line})
		}
		kept, _, ok := KeepObjects(Source{Name: c.file, Data: []byte(c.now)}, Source{Name: c.file, Data: []byte(c.before)}, problems)
		got := "no"
		if ok {
			got = listObjects(t, kept)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q\n%s", c.name, got, c.want, kept.Data)
		}
	}
}

func listObjects(t *testing.T, s Source) string {
	t.Helper()
	docs, errs := readAll(t, s.Name, string(s.Data))
	if len(errs) > 0 {
		t.Errorf("%v in\n%s", errs, s.Data)
	}
	var list strings.Builder
	for _, d := range docs {
		_, line := d.Locate("")
		spec, err := json.Marshal(d.Fields["spec"])
		if err != nil {
			t.Fatal(err)
		}
		list.WriteString(strings.Join([]string{strconv.Itoa(line), d.StringAt("kind"), d.StringAt("metadata", "name"), string(spec)}, " ") + "\n")
	}
	return list.String()
}
