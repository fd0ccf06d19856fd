package main

import (
	"go/ast"
	"go/token"
)

// maxFunctionLines is the most that a function may have, from its signature to its closing brace.
const maxFunctionLines = 60

// function is a function or method with its measurements.
type function struct {
	finding
	name              string
	lines, complexity int
}

// listFunctions measures the functions of handwritten code. A function literal is part of the function that it is in.
func listFunctions(tree *sourceTree) []function {
	var functions []function
	for _, file := range tree.handwritten() {
		for _, decl := range file.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				functions = append(functions, measureFunction(tree, file, f))
			}
		}
	}
	return functions
}

func measureFunction(tree *sourceTree, file *goFile, decl *ast.FuncDecl) function {
	name, lines := nameDeclaration(decl), tree.countLines(decl)
	found := file.report(tree.findLine(decl.Pos()),
		"function %s has %d lines; split it, at most %d", name, lines, maxFunctionLines)
	return function{found, name, lines, computeComplexity(decl)}
}

// findLongFunctions lists the functions that have too many lines.
func findLongFunctions(tree *sourceTree) []finding {
	var long []finding
	for _, f := range listFunctions(tree) {
		if f.lines > maxFunctionLines {
			long = append(long, f.finding)
		}
	}
	return long
}

// computeComplexity is the cyclomatic complexity as gocyclo and cyclop count it: one, and one for each branch.
func computeComplexity(decl *ast.FuncDecl) int {
	branches := 0
	ast.Inspect(decl, func(n ast.Node) bool {
		if isBranch(n) {
			branches++
		}
		return true
	})
	return 1 + branches
}

// isBranch says whether a node adds a path through its function. Defaults do not: they are what is left.
func isBranch(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
		return true
	case *ast.CaseClause:
		return n.List != nil
	case *ast.CommClause:
		return n.Comm != nil
	case *ast.BinaryExpr:
		return n.Op == token.LAND || n.Op == token.LOR
	}
	return false
}

// nameDeclaration is how a top-level declaration is called: name, Receiver.name, or the first name of several.
func nameDeclaration(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if receiver := nameReceiver(d); receiver != "" {
			return receiver + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				return s.Names[0].Name
			case *ast.TypeSpec:
				return s.Name.Name
			}
		}
	}
	return ""
}

// nameReceiver is the type that a method belongs to, without pointer and type parameters; empty for a function.
func nameReceiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
