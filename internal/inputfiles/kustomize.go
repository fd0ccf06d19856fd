package inputfiles

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/limpet-proxy/limpet/compiler"
)

// ReadKustomization builds the kustomization in a folder as kubectl does, with kustomize's own library: plugins are
// built-in ones alone, files come from below the folder of the kustomization that names them, and bases that are URLs
// are fetched with git.
func ReadKustomization(dir string) (compiler.Source, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return compiler.Source{}, fmt.Errorf(
			"-k %s: there is no such folder; -k takes a folder with a kustomization.yaml",
			dir,
		)
	}
	if !slices.ContainsFunc(
		konfig.RecognizedKustomizationFileNames(),
		func(name string) bool { return isFile(filepath.Join(dir, name)) },
	) {
		return compiler.Source{}, fmt.Errorf(
			"-k %s: there is no kustomization.yaml in this folder; -f %[1]s reads its files as they are",
			dir,
		)
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

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
