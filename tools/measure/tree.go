package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// tree is what people wrote below a folder: Go without generated files, and pages.
type tree struct {
	code, tests, files int
	functions          []function
	wide               []string
	uses               map[string]int // of names, by package
	pages              []page
}

// function is one of code, none of tests.
type function struct {
	at, name, key string // the key is its package's and its own name
	lines         int
}

type page struct {
	path  string
	words int
}

func readTree(root string) (*tree, error) {
	t := &tree{uses: map[string]int{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		hidden := entry != nil && path != root &&
			(strings.HasPrefix(entry.Name(), ".") || slices.Contains(passedOver, entry.Name()))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && hidden:
			return filepath.SkipDir
		case filepath.Ext(path) == ".go":
			return t.readGo(path)
		case filepath.Ext(path) == ".md" && !slices.Contains(generatedPages, filepath.ToSlash(path)):
			return t.readPage(path)
		}
		return nil
	})
	return t, err
}

var (
	passedOver     = []string{"testdata", "dist", "bin", "node_modules"}
	generatedPages = []string{
		"docs/requirements.md",
		"docs/targets.md",
		"docs/findings.md",
		"deploy/chart/limpet/README.md",
	}
	// generatedPart is a part of a page that a test or a measurement writes.
	// A printed block is what a test has from a command, or has made.
	generatedPart = regexp.MustCompile(
		`(?s)<!-- (?:fields|floor plan|figures|filter|memory|variants|instructions|features)\b[^>]*-->` +
			`.*?<!-- (?:end of |/)[^>]*-->|<!-- (?:printed|made by tests) -->\n` + "```text\n.*?\n```",
	)
)

func (t *tree) readPage(path string) error {
	text, err := os.ReadFile(path)
	t.pages = append(t.pages, page{path, len(strings.Fields(generatedPart.ReplaceAllString(string(text), "")))})
	return err
}

func (t *tree) readGo(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if strings.HasSuffix(path, "_test.go") {
		t.tests += len(lines)
		return nil
	}
	t.files, t.code = t.files+1, t.code+len(lines)
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > wideLine && !strings.Contains(line, "+kubebuilder:") {
			t.wide = append(t.wide, fmt.Sprintf("%s:%d: %d columns", path, i+1, n))
		}
	}
	in := filepath.Dir(path) + "."
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && f.Body != nil {
			at, end := positions.Position(f.Pos()), positions.Position(f.End())
			t.functions = append(
				t.functions,
				function{fmt.Sprintf("%s:%d", path, at.Line), f.Name.Name, in + f.Name.Name, end.Line - at.Line + 1},
			)
			t.uses[in+f.Name.Name]-- // its own name is none
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if name, is := n.(*ast.Ident); is && name != file.Name {
			t.uses[in+name.Name]++
		}
		return true
	})
	return nil
}

// findOnce finds small functions whose names their packages use once. Methods of one name count as one.
func (t *tree) findOnce() (once []function) {
	for _, f := range t.functions {
		if f.lines <= smallFunction && !ast.IsExported(f.name) && t.uses[f.key] == 1 {
			once = append(once, f)
		}
	}
	return once
}

func (t *tree) listOnce() {
	for _, f := range t.findOnce() {
		fmt.Printf("%s: %s is used once\n", f.at, f.name)
	}
}
