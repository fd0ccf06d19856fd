// Package docs tests the pages that stand for something in the tree: requirements.md and its tests.
package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The least numbers of things to find: a walk that finds nothing must not pass.
const (
	minItems = 79
	minRules = 85 // S1 to S75, E1 to E10
	minMarks = 300
)

var (
	// An item is a row of requirements.md, a rule stands in semantics.md.
	mark = regexp.MustCompile(`\b(?:2[ACD]\.\d+|2B\.O\d+|[HG][1-5]|S[1-9]\d*|E[1-9]\d*)\b`)
	// marksOfComment are those of a case's input and of a test function.
	marksOfComment = regexp.MustCompile(`(?m)^(?:#|//).*\brequirements: (.*)$`)
	marksOfName    = regexp.MustCompile(`^(?:(?:2[ACD]\.\d+|2B\.O\d+|S[1-9]\d*)[,: ]+)+`)
	markOfFunction = regexp.MustCompile(`^Test(S[1-9]\d*)[A-Z]`)

	itemRow    = regexp.MustCompile(`^\| ((?:2[ACD]\.\d+|2B\.O\d+|[HG][1-5])) \| (.*?) \| (.*?) \|.*\|$`)
	itemInText = regexp.MustCompile(`\b2(?:[ACD]\.\d+|B\.O\d+)`)
	ruleOf     = regexp.MustCompile(`(?m)^(?:\*\*(S\d+)\. ((?s:.*?))\*\*|### (E\d+)\. (.*)$)`)
)

// TestRequirementsHaveTests holds that requirements.md is what the marks in the tree make of it, that every item and
// rule has a test or says why not, and that no test names an item that there is not.
func TestRequirementsHaveTests(t *testing.T) {
	page := read(t, "requirements.md")
	rules := rulesOfSemantics(t)
	tests := marksOfTree(t)
	written := page.withTests(t, rules, tests)
	wantPage(t, "requirements.md", written)
	for id := range tests {
		if !strings.Contains(written, "\n| "+id+" |") {
			t.Errorf("%s is no item and no rule; it is named by %v", id, tests[id])
		}
	}
	for line := range strings.Lines(written) {
		id, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !mark.MatchString(id) || !strings.HasPrefix(line, "| ") {
			continue
		}
		switch excused := strings.Contains(line, "No test"); {
		case len(tests[id]) == 0 && !excused:
			t.Errorf("nothing holds %s", id)
		case len(tests[id]) > 0 && excused:
			t.Errorf("%s says that it has no test, and has %v", id, tests[id])
		}
	}
}

// held is a test that holds an item: a case or a function, and its file from the root.
type held struct{ name, file string }

func (h held) String() string { return "[" + h.name + "](../" + h.file + ")" }

// document is requirements.md.
type document string

func read(t *testing.T, name string) document {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return document(text)
}

// withTests gives the page with its generated columns: the rules and tests of each item, and the table of rules.
func (d document) withTests(t *testing.T, rules []rule, tests map[string][]held) string {
	t.Helper()
	handWritten, _, found := strings.Cut(string(d), "\n## Rules of semantics.md\n")
	if !found {
		t.Fatal("docs/requirements.md has no heading 'Rules of semantics.md'")
	}
	rulesOf := map[string][]string{}
	for _, r := range rules {
		for _, item := range r.items {
			if !slices.Contains(rulesOf[item], r.id) {
				rulesOf[item] = append(rulesOf[item], r.id)
			}
		}
	}
	var out strings.Builder
	items := 0
	for line := range strings.Lines(strings.TrimRight(handWritten, "\n") + "\n") {
		if row := itemRow.FindStringSubmatch(strings.TrimSpace(line)); row != nil {
			items++
			if strings.HasPrefix(row[1], "2") && rulesOf[row[1]] == nil {
				t.Errorf("no rule of semantics.md names %s", row[1])
			}
			line = fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row[1], row[2], row[3], strings.Join(rulesOf[row[1]], ", "), links(tests[row[1]]))
		}
		out.WriteString(line)
	}
	if items < minItems {
		t.Errorf("%d items, want %d at least: has the table another form?", items, minItems)
	}
	out.WriteString("\n## Rules of semantics.md\n\n| rule | what it is about | held by |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", r.id, r.title, links(tests[r.id]))
	}
	return strings.ReplaceAll(out.String(), "|  |", "| |")
}

// links gives a cell of tests.
func links(tests []held) string {
	texts := make([]string, len(tests))
	for i, h := range tests {
		texts[i] = h.String()
	}
	return strings.Join(texts, " · ")
}

// rule is a rule or a worked example of semantics.md, with the items that its text names.
type rule struct {
	id, title string
	items     []string
}

// rulesOfSemantics are the rules and examples in their order, with the items whose marks stand in their texts.
func rulesOfSemantics(t *testing.T) []rule {
	t.Helper()
	text := string(read(t, "semantics.md"))
	var all []rule
	found := ruleOf.FindAllStringSubmatchIndex(text, -1)
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		part := func(group int) string { return text[max(m[2*group], 0):max(m[2*group+1], 0)] }
		title := strings.TrimSuffix(strings.Join(strings.Fields(part(2)+part(4)), " "), ".")
		body, _, _ := strings.Cut(text[m[1]:end], "\n## ")
		all = append(all, rule{id: part(1) + part(3), title: title, items: itemInText.FindAllString(body, -1)})
	}
	if len(all) < minRules {
		t.Fatalf("%d rules and examples, want %d at least: has semantics.md another form?", len(all), minRules)
	}
	slices.SortStableFunc(all, func(a, b rule) int { return compareIDs(a.id, b.id) })
	return all
}

// compareIDs puts S before E, and each by its number.
func compareIDs(a, b string) int {
	if a[0] != b[0] {
		return int(b[0]) - int(a[0])
	}
	left, _ := strconv.Atoi(a[1:])
	right, _ := strconv.Atoi(b[1:])
	return left - right
}

// marksOfTree gives, for each mark, the tests in the tree that have it.
func marksOfTree(t *testing.T) map[string][]held {
	t.Helper()
	found := map[string]map[held]bool{}
	add := func(marks string, h held) {
		for _, id := range mark.FindAllString(marks, -1) {
			if found[id] == nil {
				found[id] = map[held]bool{}
			}
			found[id][h] = true
		}
	}
	count := 0
	eachTestFile(t, func(file string, text []byte) {
		count++
		if strings.HasSuffix(file, ".go") {
			marksOfGo(t, file, text, add)
			return
		}
		name, _, _ := strings.Cut(filepath.Base(file), ".in.")
		header, _, _ := bytes.Cut(text, []byte("\n---"))
		for _, m := range marksOfComment.FindAllSubmatch(header, -1) {
			add(string(m[1]), held{name, file})
		}
	})
	sorted, marks := map[string][]held{}, 0
	for id, tests := range found {
		marks += len(tests)
		sorted[id] = slices.SortedFunc(maps.Keys(tests), func(a, b held) int {
			return strings.Compare(a.file+" "+a.name, b.file+" "+b.name)
		})
	}
	if marks < minMarks {
		t.Fatalf("%d marks in %d files, want %d at least", marks, count, minMarks)
	}
	return sorted
}

// eachTestFile calls visit with every Go test and every input of a golden case, by its path from the root.
func eachTestFile(t *testing.T, visit func(file string, text []byte)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (file == "bin" || file == "dist" || file != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, ".in."):
			return nil
		}
		text, err := fs.ReadFile(root, file)
		visit(file, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// marksOfGo adds the marks of a Go test: in comments and names of functions, and at the beginning of cases' names.
func marksOfGo(t *testing.T, file string, text []byte, add func(marks string, h held)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range parsed.Decls {
		h := held{nameOf(declaration), file}
		if function, is := declaration.(*ast.FuncDecl); is {
			if m := markOfFunction.FindStringSubmatch(h.name); m != nil {
				add(m[1], h)
			}
			for _, m := range marksOfComment.FindAllStringSubmatch(commentOf(function.Doc), -1) {
				add(m[1], h)
			}
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				add(marksOfName.FindString(strings.Trim(literal.Value, "\"`")), h)
			}
			return true
		})
	}
}

// nameOf is what a declaration declares first.
func nameOf(declaration ast.Decl) string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if values, is := spec.(*ast.ValueSpec); is {
				return values.Names[0].Name
			}
		}
	}
	return "_"
}

// commentOf is a comment as it is written.
func commentOf(doc *ast.CommentGroup) string {
	var lines []string
	if doc != nil {
		for _, c := range doc.List {
			lines = append(lines, c.Text)
		}
	}
	return strings.Join(lines, "\n")
}
