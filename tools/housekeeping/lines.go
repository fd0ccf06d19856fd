package main

import (
	"strings"
	"unicode/utf8"
)

// The widths of a line: what is aimed at, and what is allowed.
const (
	goodColumns = 120
	maxColumns  = 140
)

// findWideLines lists the lines of handwritten code with more columns than a limit. A tab is one column, as the linter
// counts it.
func findWideLines(tree *sourceTree, limit int) []finding {
	var wide []finding
	for _, file := range tree.handwritten() {
		number := 0
		for line := range strings.Lines(file.text) {
			number++
			columns := utf8.RuneCountInString(strings.TrimRight(line, "\r\n"))
			if columns > limit && !isDirective(line) {
				wide = append(wide, file.report(number, "line has %d columns; break it, at most %d", columns, limit))
			}
		}
	}
	return wide
}

// isDirective says whether a line is a comment for a tool, which can't be broken.
func isDirective(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "//go:") || strings.HasPrefix(line, "// +kubebuilder:") ||
		strings.HasPrefix(line, "//+kubebuilder:")
}
