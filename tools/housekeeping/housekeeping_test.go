package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parse reads a folder of testdata.
func parse(t *testing.T, folder string) *sourceTree {
	t.Helper()
	tree, err := readTree(filepath.Join("testdata", folder))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// expect compares what findings say, in their order.
func expect(t *testing.T, got []finding, want ...string) {
	t.Helper()
	var lines []string
	for _, f := range got {
		lines = append(lines, f.String())
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestTreeHasWhatPeopleWrite(t *testing.T) {
	var paths []string
	for _, f := range listFiles(parse(t, "tree")) {
		paths = append(paths, f.path)
	}
	want := []string{"code.go", "code_plan9.go", "code_test.go", "nested/nested.go", "tests/only_test.go"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}

func TestFunctions(t *testing.T) {
	type measured struct{ lines, complexity int }
	want := map[string]measured{
		"oneLine":         {1, 1},
		"noBody":          {1, 1},
		"straight":        {6, 1},
		"branches":        {11, 6},
		"cases":           {14, 5},
		"generic.literal": {7, 2},
		"plain.method":    {1, 1},
	}
	got := map[string]measured{}
	for _, f := range listFunctions(parse(t, "functions")) {
		got[f.name] = measured{f.lines, f.complexity}
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestQuantiles(t *testing.T) {
	ten := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, test := range []struct {
		sorted        []int
		percent, want int
	}{
		{nil, 50, 0}, {[]int{7}, 50, 7}, {[]int{7}, 100, 7}, {ten, 50, 6}, {ten, 90, 10}, {ten, 100, 10}, {ten, 0, 1},
	} {
		if got := pickQuantile(test.sorted, test.percent); got != test.want {
			t.Errorf("%d %% of %v: got %d, want %d", test.percent, test.sorted, got, test.want)
		}
	}
}

func TestShadows(t *testing.T) {
	found := findLocals(parse(t, "shadows"))
	var got []string
	for _, s := range found.shadows {
		key := s.key
		if s.isTest {
			key += " (tests)"
		}
		got = append(got, key)
	}
	want := []string{
		"inside_test.go:helper:value (tests)",
		"plan_plan9.go:text:value",
		"shadows.go:Ranked.receiver:value",
		"shadows.go:parameter:text",
		"shadows.go:result:value",
		"shadows.go:declared:value",
		"shadows.go:declared:limit",
		"shadows.go:declared:text",
		"shadows.go:declared:value",
		"shadows.go:ranged:value",
		"shadows.go:ranged:other",
		"shadows.go:switched:kind",
		"shadows.go:imported:text",
		"shadows.go:imported:kind",
		"shadows.go:imported:value",
		"shadows.go:literal:limit",
		"shadows.go:system:plan",
		"shadows.go:helped:helper (tests)",
		"outside_test.go:outside:outside (tests)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if found.code != 23 || found.tests != 3 {
		t.Errorf("got %d locals of code and %d of tests, want 23 and 3", found.code, found.tests)
	}
}

func TestUsedOnce(t *testing.T) {
	expect(t, findUsedOnce(parse(t, "once")),
		"once.go:32: once (lines: 1) is used once, at once.go:8",
		"once.go:46: eight (lines: 8) is used once, at once.go:52",
		"once.go:55: tested (lines: 1) is used once, at once.go:12, and 2 times by tests",
		"once.go:63: genericOnce (lines: 1) is used once, at once.go:15",
		"once.go:67: a.same (lines: 1) is used once, at once.go:16",
		"once.go:69: a.hidden (lines: 1) is used once, at once.go:20",
		"once.go:79: box.inBox (lines: 1) is used once, at once.go:25",
		"system_plan9.go:5: system (lines: 1) is used once, at once.go:24",
	)
}

func TestDocumentation(t *testing.T) {
	tree := parse(t, "documentation")
	expect(t, findUndocumented(tree),
		"commented/a.go:13: Bare is exported and has no comment; say what it is",
		"commented/a.go:20: Method is exported and has no comment; say what it is",
		"commented/a.go:29: BareType is exported and has no comment; say what it is",
		"commented/a.go:31: BareMethod is exported and has no comment; say what it is",
		"commented/a.go:33: BareFunction is exported and has no comment; say what it is",
		"program/main.go:1: package main has no package comment; say what it is for above one file's package clause",
		"uncommented/a.go:1: package uncommented has no package comment; "+
			"say what it is for above one file's package clause",
	)
	if got := len(listExported(tree)); got != 12 {
		t.Errorf("got %d exported identifiers, want 12", got)
	}
}

func TestTable(t *testing.T) {
	var table strings.Builder
	if err := printTable(&table, parse(t, "tree")); err != nil {
		t.Fatal(err)
	}
	const want = `
                                          code         tests
files                                     3            2
functions                                 3            1
lines of a function: median / p90 / max   1 / 1 / 1    6 / 6 / 6
cyclomatic complexity: p90 / max          1 / 1        2 / 2
functions over 60 lines                   0            0
functions used once, of 8 lines or fewer  0
locals                                    0            2
locals that shadow a package-level name   0            1
lines over 120 columns                    0            0
lines over 140 columns                    0            0
exported identifiers                      2
exported identifiers without a comment    1
packages without a comment                1
bytes of compiler/testdata                             8
`
	if got := "\n" + table.String(); got != want {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
}

func TestRun(t *testing.T) {
	for _, test := range []struct {
		arguments string
		lines     int
		wantError string
		begins    string
	}{
		{"-C testdata/tree", 15, "", " "},
		{"-C testdata/shadows -list shadows", 19, "", "inside_test.go:3: local value of helper"},
		{"-C testdata/once -list once", 8, "", "once.go:32: once"},
		{"-C testdata/documentation -list undocumented", 7, "", "commented/a.go:13: Bare"},
		{"-C testdata/functions -list long", 0, "", ""},
		{"-C testdata/functions -list lines", 0, "", ""},
		{"-C testdata/shadows -check", 19, "19 findings; a local that must keep its name", "inside_test.go:3:"},
		{"-C testdata/shadows -check -tests=false", 16, "16 findings", "plan_plan9.go:5:"},
		{"-C testdata/functions -check", 0, "", ""},
		{"-list locals", 0, "-list locals: must be shadows, once, long, lines or undocumented", ""},
		{"-C testdata/missing", 0, "testdata/missing: no such file", ""},
		{"shadows", 0, `"shadows": unexpected argument`, ""},
	} {
		t.Run(test.arguments, func(t *testing.T) {
			var stdout strings.Builder
			err := run(strings.Fields(test.arguments), &stdout)
			if (err != nil) != (test.wantError != "") || !strings.Contains(fmt.Sprint(err), test.wantError) {
				t.Errorf("got error %v, want %q", err, test.wantError)
			}
			output := stdout.String()
			if strings.Count(output, "\n") != test.lines || !strings.HasPrefix(output, test.begins) {
				t.Errorf("want %d lines that begin with %q, got:\n%s", test.lines, test.begins, output)
			}
		})
	}
}
