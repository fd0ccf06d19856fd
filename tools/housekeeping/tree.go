package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sourceTree is the Go code below a folder. Unlike ./... it has the files for other systems and for TinyGo, and the
// modules within the module: they are read by the same people.
type sourceTree struct {
	root      string
	positions *token.FileSet
	packages  []*goPackage
}

// goPackage is the files of a folder with one package clause; tests of package x_test are a package of their own.
type goPackage struct {
	folder, name string
	files        []*goFile
	scope        *types.Scope
	info         *types.Info
}

// goFile is one file, by its path below the tree's root.
type goFile struct {
	path        string
	text        string
	syntax      *ast.File
	isTest      bool
	isGenerated bool
}

// readTree parses and type-checks the code below the folder.
func readTree(root string) (*sourceTree, error) {
	tree := &sourceTree{root: root, positions: token.NewFileSet()}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && isIgnored(entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		return tree.readFile(name)
	})
	if err != nil {
		return nil, err
	}
	for _, pkg := range tree.packages {
		pkg.checkTypes(tree.positions)
	}
	return tree, nil
}

// isIgnored says whether the go command passes over a folder of that name.
func isIgnored(folder string) bool {
	return folder == "testdata" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func (t *sourceTree) readFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(t.root, name)
	if err != nil {
		return err
	}
	file := &goFile{
		path: filepath.ToSlash(below), text: string(text), syntax: syntax,
		isTest: strings.HasSuffix(name, "_test.go"), isGenerated: ast.IsGenerated(syntax),
	}
	pkg := t.addPackage(path.Dir(file.path), syntax.Name.Name)
	pkg.files = append(pkg.files, file)
	return nil
}

// addPackage adds a package in its place, so that packages stay sorted, unless it is there.
func (t *sourceTree) addPackage(folder, name string) *goPackage {
	wanted := &goPackage{folder: folder, name: name}
	at, found := slices.BinarySearchFunc(t.packages, wanted, func(a, b *goPackage) int {
		return cmp.Or(cmp.Compare(a.folder, b.folder), cmp.Compare(a.name, b.name))
	})
	if !found {
		t.packages = slices.Insert(t.packages, at, wanted)
	}
	return t.packages[at]
}

// handwritten is every file that people write, with its package.
func (t *sourceTree) handwritten() iter.Seq2[*goPackage, *goFile] {
	return func(yield func(*goPackage, *goFile) bool) {
		for _, pkg := range t.packages {
			for _, file := range pkg.files {
				if !file.isGenerated && !yield(pkg, file) {
					return
				}
			}
		}
	}
}

// findLine is the line of a position in its file, whatever a line directive says.
func (t *sourceTree) findLine(at token.Pos) int { return t.positions.PositionFor(at, false).Line }

// findFile is the file that a position is in.
func (p *goPackage) findFile(at token.Pos) *goFile {
	for _, file := range p.files {
		if file.syntax.FileStart <= at && at < file.syntax.FileEnd {
			return file
		}
	}
	return nil
}

// countLines is how many lines a node stands on.
func (t *sourceTree) countLines(n ast.Node) int { return t.findLine(n.End()) - t.findLine(n.Pos()) + 1 }
