// Command render writes what is made from the chart: its README, and below dist/deploy the chart with its CRDs and
// install.yaml, as they are released.
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
	install, err := chart.Manifest(root)
	if err != nil {
		return err
	}
	if err := chart.WriteFiles(filepath.Join(root, "dist/deploy"),
		map[string][]byte{"install.yaml": []byte(install)}); err != nil {
		return err
	}
	return chart.Write(root, filepath.Join(root, "dist/deploy/chart/limpet"))
}
