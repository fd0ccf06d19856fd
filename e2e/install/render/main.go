// Command render writes what is made from the chart: below deploy/ the kustomize base and the chart's README, and below dist/deploy the
// chart with its CRDs and install.yaml, as they are released.
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
	install, base, err := chart.Manifests(root)
	if err != nil {
		return err
	}
	if err := chart.WriteFiles(filepath.Join(root, "deploy/kustomize"), base); err != nil {
		return err
	}
	if err := chart.WriteFiles(filepath.Join(root, "dist/deploy"), map[string]string{"install.yaml": install}); err != nil {
		return err
	}
	return chart.Write(root, filepath.Join(root, "dist/deploy/chart/limpet"))
}
