package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// row is one measurement, of code and of tests; empty where it makes no sense.
type row struct{ name, code, tests string }

// printTable prints every measurement.
func printTable(w io.Writer, tree *sourceTree) error {
	golden, err := sumBytes(filepath.Join(tree.root, "compiler", "testdata"))
	if err != nil {
		return err
	}
	rows := slices.Concat(
		[]row{{"", "code", "tests"}},
		measureFunctions(tree),
		measureLocals(tree),
		measureLines(tree),
		measureDocumentation(tree),
		[]row{{"bytes of compiler/testdata", "", strconv.FormatInt(golden, 10)}},
	)
	for _, r := range rows {
		line := fmt.Sprintf("%-41s %-12s %s", r.name, r.code, r.tests)
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func measureFunctions(tree *sourceTree) []row {
	var lines, complexities [2][]int
	for _, f := range listFunctions(tree) {
		side := f.side()
		lines[side] = append(lines[side], f.lines)
		complexities[side] = append(complexities[side], f.complexity)
	}
	for side := range lines {
		slices.Sort(lines[side])
		slices.Sort(complexities[side])
	}
	once := strconv.Itoa(len(findUsedOnce(tree)))
	return []row{
		countSides("files", listFiles(tree)),
		{"functions", strconv.Itoa(len(lines[0])), strconv.Itoa(len(lines[1]))},
		{"lines of a function: median / p90 / max", describeLengths(lines[0]), describeLengths(lines[1])},
		{"cyclomatic complexity: p90 / max", describeComplexities(complexities[0]), describeComplexities(complexities[1])},
		countSides(fmt.Sprintf("functions over %d lines", maxFunctionLines), findLongFunctions(tree)),
		{fmt.Sprintf("functions used once, of %d lines or fewer", maxFoldedLines), once, ""},
	}
}

func describeLengths(sorted []int) string {
	return fmt.Sprintf("%d / %d / %d", pickQuantile(sorted, 50), pickQuantile(sorted, 90), pickQuantile(sorted, 100))
}

func describeComplexities(sorted []int) string {
	return fmt.Sprintf("%d / %d", pickQuantile(sorted, 90), pickQuantile(sorted, 100))
}

// pickQuantile is the value that so many per cent of sorted values are below. It is 0 without any.
func pickQuantile(sorted []int, percent int) int {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

func measureLocals(tree *sourceTree) []row {
	found := findLocals(tree)
	var shadows []finding
	for _, s := range found.shadows {
		shadows = append(shadows, s.finding)
	}
	return []row{
		{"locals", strconv.Itoa(found.code), strconv.Itoa(found.tests)},
		countSides("locals that shadow a package-level name", shadows),
	}
}

func measureLines(tree *sourceTree) []row {
	return []row{
		countSides(fmt.Sprintf("lines over %d columns", goodColumns), findWideLines(tree, goodColumns)),
		countSides(fmt.Sprintf("lines over %d columns", maxColumns), findWideLines(tree, maxColumns)),
	}
}

func measureDocumentation(tree *sourceTree) []row {
	names, undocumented := 0, 0
	for _, e := range listExported(tree) {
		names++
		if !e.isDocumented {
			undocumented++
		}
	}
	return []row{
		{"exported identifiers", strconv.Itoa(names), ""},
		{"exported identifiers without a comment", strconv.Itoa(undocumented), ""},
		{"packages without a comment", strconv.Itoa(len(findUncommentedPackages(tree))), ""},
	}
}

// listFiles lists the handwritten files.
func listFiles(tree *sourceTree) []finding {
	var files []finding
	for _, file := range tree.handwritten() {
		files = append(files, file.report(1, "file"))
	}
	return files
}

// countSides counts the findings in code and in tests.
func countSides(name string, findings []finding) row {
	var counts [2]int
	for _, f := range findings {
		counts[f.side()]++
	}
	return row{name, strconv.Itoa(counts[0]), strconv.Itoa(counts[1])}
}

// sumBytes is how many bytes the files below a folder have; a folder that is not there has none.
func sumBytes(folder string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return sum, err
}
