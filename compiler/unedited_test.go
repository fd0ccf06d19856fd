package compiler

import (
	"strings"
	"testing"
)

// TestWithoutAnEditNothingEnds compares each golden's input with itself.
//
// requirements: S22
func TestWithoutAnEditNothingEnds(t *testing.T) {
	compared := 0
	for _, g := range loadGoldens(t) {
		o := g.parseOptions(t)
		o.Since = []Source{g.source}
		checked, err := Check([]Source{g.source}, o)
		if err != nil {
			continue // there is nothing to compare
		}
		compared++
		for _, r := range checked.Rows {
			if strings.Contains(r.Message, "the sessions of a rule end") {
				t.Errorf("%s: %s: %s", g.name, r.Object, r.Message)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d goldens are compared", compared)
	}
}
