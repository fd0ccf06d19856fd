package main

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// noImports imports nothing. What names mean within a package needs none of its imports, and so neither a build nor a
// download: one second, where reading what every import exports takes five, and minutes in a fresh clone. Counted that
// way, shadows and uses were the same.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return nil, errors.New("imports are left out")
}

// checkTypes resolves the package's names. Errors are expected: imports are left out, and files for two systems declare
// the same names.
func (p *goPackage) checkTypes(positions *token.FileSet) {
	p.info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	files := make([]*ast.File, len(p.files))
	for i, file := range p.files {
		files[i] = file.syntax
	}
	checked, _ := config.Check(p.folder, positions, files, p.info)
	p.scope = checked.Scope()
}
