package main

import (
	"go/ast"
	"go/types"
)

// shadow is a local with a package-level name of its own package. It is of tests if the local or the other name is.
type shadow struct {
	finding
	key string // path:function:name, as the allow list has it
}

// locals are what functions declare: how many, and the ones that shadow a package-level name.
type locals struct {
	code, tests int
	shadows     []shadow
}

// findLocals looks through the receivers, parameters, named results, variables and constants of all functions.
func findLocals(tree *sourceTree) locals {
	var found locals
	for pkg, file := range tree.handwritten() {
		for _, decl := range file.syntax.Decls {
			pkg.inspectLocals(decl, func(local *ast.Ident) {
				if file.isTest {
					found.tests++
				} else {
					found.code++
				}
				if declared := pkg.scope.Lookup(local.Name); declared != nil {
					found.shadows = append(found.shadows, describeShadow(tree, pkg, file, decl, local, declared))
				}
			})
		}
	}
	return found
}

// inspectLocals calls a function for each name that a declaration declares within functions. What the type of a
// function without a body names, as in an interface, is no local: no code sees it.
func (p *goPackage) inspectLocals(decl ast.Decl, see func(*ast.Ident)) {
	hasBody := map[*ast.FuncType]bool{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			hasBody[n.Type] = n.Body != nil
		case *ast.FuncLit:
			hasBody[n.Type] = true
		case *ast.FuncType:
			return hasBody[n]
		case *ast.TypeSwitchStmt:
			if assign, ok := n.Assign.(*ast.AssignStmt); ok {
				see(assign.Lhs[0].(*ast.Ident))
			}
		case *ast.Ident:
			if p.isLocal(n) {
				see(n)
			}
		}
		return true
	})
}

// isLocal says whether an identifier declares a variable or constant within a function.
func (p *goPackage) isLocal(name *ast.Ident) bool {
	if name.Name == "_" {
		return false
	}
	switch object := p.info.Defs[name].(type) {
	case *types.Var:
		return !object.IsField() && object.Parent() != p.scope
	case *types.Const:
		return object.Parent() != p.scope
	}
	return false
}

func describeShadow(
	tree *sourceTree, pkg *goPackage, file *goFile, decl ast.Decl, local *ast.Ident, declared types.Object,
) shadow {
	owner, other := nameDeclaration(decl), pkg.findFile(declared.Pos())
	found := file.report(tree.findLine(local.Pos()), "local %s of %s has the package-level name of %s:%d; rename one",
		local.Name, owner, other.path, tree.findLine(declared.Pos()))
	found.isTest = file.isTest || other.isTest
	return shadow{found, file.path + ":" + owner + ":" + local.Name}
}
