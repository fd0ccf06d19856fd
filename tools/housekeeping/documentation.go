package main

import (
	"go/ast"
	"go/token"
)

// findUncommentedPackages lists the packages none of whose files says what they are for. Tests of package x_test need
// nothing besides the comment of x.
func findUncommentedPackages(tree *sourceTree) []finding {
	var uncommented []finding
	commented := map[string]bool{}
	for _, pkg := range tree.packages {
		if pkg.isCommented() {
			commented[pkg.folder] = true
		}
	}
	for _, pkg := range tree.packages {
		if !commented[pkg.folder] {
			commented[pkg.folder] = true
			uncommented = append(uncommented, pkg.files[0].report(1,
				"package %s has no package comment; say what it is for above one file's package clause", pkg.name))
		}
	}
	return uncommented
}

func (p *goPackage) isCommented() bool {
	for _, file := range p.files {
		if file.syntax.Doc.Text() != "" {
			return true
		}
	}
	return false
}

// exported is an exported identifier of a package.
type exported struct {
	finding
	isDocumented bool
}

// listExported lists what packages export: functions, methods of exported types, types, constants and variables.
func listExported(tree *sourceTree) []exported {
	var list []exported
	for pkg, file := range tree.handwritten() {
		if file.isTest || pkg.name == "main" {
			continue
		}
		for _, decl := range file.syntax.Decls {
			names, isDocumented := listNames(decl)
			for i, name := range names {
				if name.IsExported() {
					list = append(list, exported{file.report(tree.findLine(name.Pos()),
						"%s is exported and has no comment; say what it is", name.Name), isDocumented[i]})
				}
			}
		}
	}
	return list
}

// listNames is what a top-level declaration declares, each with whether a comment says what it is; that of a group is
// enough for all. Methods of unexported types are left out.
func listNames(decl ast.Decl) (names []*ast.Ident, isDocumented []bool) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if receiver := nameReceiver(d); receiver == "" || token.IsExported(receiver) {
			return []*ast.Ident{d.Name}, []bool{d.Doc != nil}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
				isDocumented = append(isDocumented, d.Doc != nil || s.Doc != nil || s.Comment != nil)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name)
					isDocumented = append(isDocumented, d.Doc != nil || s.Doc != nil || s.Comment != nil)
				}
			}
		}
	}
	return names, isDocumented
}

// findUndocumented lists the exported identifiers and the packages without a comment.
func findUndocumented(tree *sourceTree) []finding {
	var undocumented []finding
	for _, e := range listExported(tree) {
		if !e.isDocumented {
			undocumented = append(undocumented, e.finding)
		}
	}
	return append(undocumented, findUncommentedPackages(tree)...)
}
