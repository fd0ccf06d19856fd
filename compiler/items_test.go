package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// items are those of the lists 2A, 2B and 2C of docs/semantics.md that a compilation shows, with words of a golden
// case about each: in its name or in the comment that says what it is for. What merging alone decides has its cases
// in package ladder, what is status in package status.
var items = []string{
	"2A.5", "2A.8", "2A.12", "2A.14", "2A.15", "2A.18", "2A.19", "2A.20", "2A.21", "2A.22", "2A.26", "2A.27", "2A.28", "2A.30", "2A.31",
	"2B.O1", "2B.O2", "2B.O3", "2B.O4", "2B.O5", "2B.O6", "2B.O7", "2B.O8",
	"2C.2", "2C.3", "2C.5", "2C.6", "2C.7", "2C.9", "2C.10", "2C.11", "2C.13",
	"S3", "S4", "S6", "S7", "S9", "S10", "S11", "S12", "S13", "S14", "S15", "S16", "S18", "S19", "S20", "S21", "S22", "S23", "S24",
	"S26", "S27", "S28", "S29", "S31", "S32", "S33", "S35", "S36", "S39", "S40", "S41", "S48", "S49", "S50",
	"E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9",
}

// TestItemsHaveCases holds that there is a golden case for each item.
func TestItemsHaveCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "policy-*.in.yaml"))
	if err != nil || len(files) < 55 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	said := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "# ") {
				for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,:;()", r) }) {
					said[word] = true
				}
			}
		}
	}
	for _, item := range items {
		if !said[item] {
			t.Errorf("no case says that it is about %s", item)
		}
	}
}
