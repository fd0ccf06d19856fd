package docs

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floor is a group of packages in development.md: those below a folder that no earlier group has.
type floor struct{ title, folder string }

var floors = []floor{
	{"The command", "cmd"},
	{"The public packages", "compiler"},
	{"", "token"},
	{"", "policy-config"},
	{"", "wasmimage"},
	{"", "filter/wasmtest"},
	{"The compiler's steps", "internal/compiler"},
	{"What the command needs besides", "internal"},
	{"The filter", "filter"},
	{"Tests on a real Envoy, measurements, tools, examples", "e2e"},
	{"", "conformance"},
	{"", "bench"},
	{"", "tools"},
	{"", "examples"},
}

// TestFloorPlan holds that development.md lists every package with its purpose, and that each has one: a sentence that
// is more than its name.
func TestFloorPlan(t *testing.T) {
	wantPage(t, "development.md", fill(t, string(read(t, "development.md")), "floor plan", floorPlan(t)))
}

// floorPlan writes a table for each titled group.
func floorPlan(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	var seen []string
	for _, f := range floors {
		if f.title != "" {
			fmt.Fprintf(&out, "\n### %s\n\n| package | purpose |\n|---|---|\n", f.title)
		}
		for _, folder := range packagesBelow(t, f.folder) {
			if slices.Contains(seen, folder) {
				continue
			}
			seen = append(seen, folder)
			fmt.Fprintf(&out, "| `%s` | %s |\n", folder, purposeOf(t, folder))
		}
	}
	for _, folder := range packagesBelow(t, ".") {
		if !slices.Contains(seen, folder) {
			t.Errorf("the floor plan has no place for %s", folder)
		}
	}
	if len(seen) < 50 {
		t.Fatalf("only %d packages", len(seen))
	}
	return out.String() + "\n"
}

// packagesBelow are the folders with Go files that are no tests, from the root of the tree.
func packagesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join("..", filepath.FromSlash(folder)), func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || len(entry.Name()) > 2 && entry.Name()[0] == '.'):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			if in := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"); !slices.Contains(found, in) {
				found = append(found, in)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// purposeOf is the first sentence of a package's comment, without "Package NAME" or "Command NAME".
func purposeOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc == nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		sentence := new(doc.Package).Synopsis(parsed.Doc.Text())
		words := strings.SplitN(sentence, " ", 3)
		name := parsed.Name.Name
		if name == "main" {
			name = filepath.Base(folder)
		}
		if len(words) < 3 || words[0] != "Package" && words[0] != "Command" || words[1] != name {
			t.Errorf("%s: the comment is %q, want \"Package %s does ...\"", folder, sentence, name)
			return ""
		}
		return strings.ReplaceAll(words[2], "|", "\\|")
	}
	t.Errorf("%s: no file has the package's comment", folder)
	return ""
}

// TestPublicPackagesHaveExamples: a public package shows its main use in examples that run and whose output is checked.
func TestPublicPackagesHaveExamples(t *testing.T) {
	for _, folder := range []string{"token", "policy-config", "compiler", "compiler/api/v1alpha1", "wasmimage", "filter/wasmtest"} {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "example*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no examples (%v)", folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			examples := doc.Examples(parsed)
			if len(examples) < 2 {
				t.Errorf("%s has only %d examples", folder, len(examples))
			}
			for _, e := range examples {
				if e.Output == "" || e.Doc == "" {
					t.Errorf("%s: Example%s is not run, for its output is not written down, or does not say what it shows", folder, e.Name)
				}
			}
		}
	}
}

// TestPathOfAChange holds that the functions which development.md leads through, from a change to its acknowledgement, are there.
func TestPathOfAChange(t *testing.T) {
	_, rest, found := strings.Cut(string(read(t, "development.md")), "\n## From a change to its acknowledgement\n")
	if !found {
		t.Fatal("development.md does not lead from a change to its acknowledgement")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	steps := regexp.MustCompile("(?m)`([a-z/_]+\\.go)` `(\\w+)\\.(\\w+)`").FindAllStringSubmatch(section, -1)
	if len(steps) < 15 {
		t.Errorf("only %d steps", len(steps))
	}
	for _, step := range steps {
		text := string(read(t, "../"+step[1]))
		if !regexp.MustCompile(`(?m)^func \(\w+ \*?` + step[2] + `\) ` + step[3] + `\(`).MatchString(text) {
			t.Errorf("%s has no method %s of %s", step[1], step[3], step[2])
		}
	}
}

// TestTiers: CONTRIBUTING names each target that a workflow runs, and none that is not in the Makefile.
func TestTiers(t *testing.T) {
	page, makefile := string(read(t, "../CONTRIBUTING.md")), string(read(t, "../Makefile"))
	names := func(text string) map[string]bool {
		found := map[string]bool{}
		for _, m := range regexp.MustCompile("(?:`|run: )make ([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
		return found
	}
	known := names(page)
	for name := range known {
		if !strings.Contains(makefile, "\n"+name+": ") {
			t.Errorf("CONTRIBUTING.md names 'make %s', which is not in the Makefile", name)
		}
	}
	for _, workflow := range []string{"ci", "nightly", "weekly"} {
		text := string(read(t, "../.github/workflows/"+workflow+".yml"))
		run := names(text)
		if m := regexp.MustCompile(`(?m)^        target: \[(e2e, .*)\]$`).FindStringSubmatch(text); m != nil {
			for _, name := range strings.Split(m[1], ", ") {
				run[name] = true
			}
		}
		for name := range run {
			if !known[name] && name != "build" {
				t.Errorf("CONTRIBUTING.md does not say what 'make %s' is, which %s.yml runs", name, workflow)
			}
		}
	}
}
