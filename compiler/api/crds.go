// Package api carries the CRDs of limpet's own kinds, generated from the Go types in v1alpha1.
//
// testdata/accepted and testdata/refused hold one document a file, each accepted or refused by these CRDs on
// creation, for other packages to test themselves against; next to a refused document is what the API server says.
package api

import (
	"embed"
	"path"
)

//go:generate go test . -run ^TestGenerated$ -update

//go:embed crds/*.yaml
var crdFiles embed.FS

// CRDs gives the text of every CRD, one YAML document each, ordered by file name.
func CRDs() [][]byte {
	entries, err := crdFiles.ReadDir("crds")
	if err != nil {
		panic("api: the CRDs are part of this program: " + err.Error()) // no input leads here
	}
	texts := make([][]byte, len(entries))
	for i, e := range entries {
		if texts[i], err = crdFiles.ReadFile(path.Join("crds", e.Name())); err != nil {
			panic("api: the CRDs are part of this program: " + err.Error()) // no input leads here
		}
	}
	return texts
}
