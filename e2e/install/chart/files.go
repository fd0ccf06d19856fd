package chart

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files are those of the chart as it is released, by their paths in it: the folder's, and the CRDs as templates of a
// chart in it, for Helm's own folder for them knows no upgrade.
func Files(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(Folder(root), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(Folder(root), path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	crds, err := filepath.Glob(filepath.Join(root, "compiler/api/crds/*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, path := range crds {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		template, err := keepCRD(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files["charts/crds/templates/"+filepath.Base(path)] = template
	}
	return files, nil
}

// keepCRD adds the annotation by which Helm keeps an object when the chart goes, for with a CRD all policies would, and
// hides from Helm what looks like a template.
func keepCRD(text string) ([]byte, error) {
	const annotations = "\n  annotations:\n"
	if strings.Count(text, annotations) != 1 {
		return nil, fmt.Errorf("it has no annotations, or more than its own: the chart adds one there")
	}
	text = strings.NewReplacer("{{", `{{ "{{" }}`, "}}", `{{ "}}" }}`).Replace(text)
	return []byte(strings.Replace(text, annotations, annotations+"    helm.sh/resource-policy: keep\n", 1)), nil
}

// Write writes the chart as it is released into a folder.
func Write(root, folder string) error {
	files, err := Files(root)
	if err != nil {
		return err
	}
	return WriteFiles(folder, files)
}

// WriteFiles writes files, by their paths in a folder, in place of all that is there.
func WriteFiles(folder string, files map[string][]byte) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
