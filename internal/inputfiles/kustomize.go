package inputfiles

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/limpet-proxy/limpet/compiler"
)

// ReadKustomization builds the kustomization in a folder as kubectl does, with kustomize's own library: plugins are built-in ones
// alone, files come from below the folder of the kustomization that names them, and bases that are URLs are fetched with git.
func ReadKustomization(dir string) (compiler.Source, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return compiler.Source{}, fmt.Errorf("-k %s: there is no such folder; -k takes a folder with a kustomization.yaml", dir)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return compiler.Source{}, fmt.Errorf("kustomization %s: %w", dir, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return compiler.Source{}, fmt.Errorf("kustomization %s: %w", dir, err)
	}
	return compiler.Source{Name: dir + " (kustomize)", Data: text}, nil
}
