package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// proof is a test that docs/threat-model.md names: a function, or with "…" every function that begins so.
type proof struct{ folder, name string }

var (
	proofOrFolder = regexp.MustCompile("`([A-Za-z0-9_/…-]+)`(:?)")
	testFunction  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
)

// TestThreatModelNamesRealTests: every test in the column "shown by" of docs/threat-model.md is in the tree, in the
// folder that stands before it or else in filter/behaviour, and every threat names something that shows it.
//
// requirements: 2A.3, S38
func TestThreatModelNamesRealTests(t *testing.T) {
	t.Parallel()
	proofs, rows := 0, 0
	for line := range strings.Lines(harness.ReadDocument(t, "docs/threat-model.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "**") {
			continue
		}
		rows++
		found := proofsIn(cells[4])
		proofs += len(found)
		for _, p := range found {
			if err := p.checkProof(harness.Root(t)); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(cells[1]), err)
			}
		}
		if strings.TrimSpace(cells[4]) == "" {
			t.Errorf("%s: nothing shows it", cells[1])
		}
	}
	if rows < 12 || proofs < 20 {
		t.Errorf("only %d threats with %d tests found: has the table another form?", rows, proofs)
	}
}

// proofsIn are the tests that a cell of the table names; "`FOLDER`:" holds for those behind it.
func proofsIn(cell string) []proof {
	folder := "filter/behaviour"
	var all []proof
	for _, match := range proofOrFolder.FindAllStringSubmatch(cell, -1) {
		switch isTest := strings.HasPrefix(match[1], "Test") || strings.HasPrefix(match[1], "Fuzz"); {
		case match[2] == ":":
			folder = match[1]
		case isTest:
			all = append(all, proof{folder, match[1]})
		}
	}
	return all
}

// checkProof looks for the function in the folder's test files.
func (p proof) checkProof(root string) error {
	files, err := filepath.Glob(filepath.Join(root, p.folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no tests in %s", p.folder)
	}
	prefix, several := strings.CutSuffix(p.name, "…")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, function := range testFunction.FindAllStringSubmatch(string(text), -1) {
			if function[1] == p.name || several && strings.HasPrefix(function[1], prefix) {
				return nil
			}
		}
	}
	return fmt.Errorf("no %s in %s", p.name, p.folder)
}
