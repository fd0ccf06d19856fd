package chart

import (
	"fmt"
	"os/exec"
)

// Readme makes the chart's README with helm-docs.
func Readme(root string) ([]byte, error) {
	command := exec.Command(
		"go",
		"tool",
		"helm-docs",
		"--chart-search-root",
		Folder(root),
		"--chart-to-generate",
		Folder(root),
		"--dry-run",
		"--skip-version-footer",
		"--log-level",
		"error",
	)
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("helm-docs: %w", err)
	}
	return text, nil
}
