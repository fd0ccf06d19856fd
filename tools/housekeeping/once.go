package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// maxFoldedLines is up to how many lines a function that is used once is better read in its place, perhaps.
const maxFoldedLines = 8

// uses are the places at which a package's functions are used.
type uses struct {
	pkg        *goPackage
	resolved   map[types.Object][]token.Pos
	unresolved map[string][]token.Pos // of methods of that name, of one type or another
}

// findUsedOnce lists the small unexported functions and methods that one place uses, but none whose body is elsewhere,
// as the host's are. Uses in tests do not count, but are told: who folds such a function has its tests to move.
func findUsedOnce(tree *sourceTree) []finding {
	var once []finding
	collected := map[*goPackage]uses{}
	for pkg, file := range tree.handwritten() {
		if file.isTest {
			continue
		}
		if _, done := collected[pkg]; !done {
			collected[pkg] = collectUses(pkg)
		}
		for _, decl := range file.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil || f.Name.IsExported() || tree.countLines(f) > maxFoldedLines {
				continue
			}
			if code, tests := collected[pkg].count(f); len(code) == 1 {
				once = append(once, describeUsedOnce(tree, pkg, file, f, code[0], tests))
			}
		}
	}
	return once
}

func collectUses(pkg *goPackage) uses {
	u := uses{pkg, map[types.Object][]token.Pos{}, map[string][]token.Pos{}}
	for name, object := range pkg.info.Uses {
		if f, ok := object.(*types.Func); ok {
			u.resolved[f.Origin()] = append(u.resolved[f.Origin()], name.Pos())
		}
	}
	for _, file := range pkg.files {
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && pkg.info.Uses[s.Sel] == nil {
				u.unresolved[s.Sel.Name] = append(u.unresolved[s.Sel.Name], s.Sel.Pos())
			}
			return true
		})
	}
	return u
}

// count is where code uses the function, and how often tests do. A selector of an unknown type may mean any method.
func (u uses) count(f *ast.FuncDecl) (code []token.Pos, tests int) {
	all := u.resolved[u.pkg.info.Defs[f.Name]]
	if f.Recv != nil {
		all = append(all[:len(all):len(all)], u.unresolved[f.Name.Name]...)
	}
	for _, at := range all {
		if u.pkg.findFile(at).isTest {
			tests++
		} else {
			code = append(code, at)
		}
	}
	return code, tests
}

func describeUsedOnce(
	tree *sourceTree, pkg *goPackage, file *goFile, f *ast.FuncDecl, use token.Pos, tests int,
) finding {
	found := file.report(tree.findLine(f.Pos()), "%s (lines: %d) is used once, at %s:%d",
		nameDeclaration(f), tree.countLines(f), pkg.findFile(use).path, tree.findLine(use))
	if tests > 0 {
		found.text += fmt.Sprintf(", and %d times by tests", tests)
	}
	return found
}
