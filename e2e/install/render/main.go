// Command render writes what is made from the chart: the kustomize base, install.yaml, and the chart's README.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/limpet-proxy/limpet/e2e/install/chart"
)

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	readme, err := chart.Readme(root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(chart.Folder(root), "README.md"), readme, 0o644); err != nil {
		return err
	}
	files, err := chart.Manifests(root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, "deploy/kustomize")); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(root, "deploy", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
