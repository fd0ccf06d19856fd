package docs

import (
	"regexp"
	"strings"
	"testing"
)

var verdictRow = regexp.MustCompile(`(?m)^\| (2[AC]\.\d+|2B\.O\d+) \| (.*) \| (S\d+) \|$`)

// TestVerdicts holds that what is met otherwise than it stands is an item of requirements.md, whose tests are there, and says how, and by
// which rule.
func TestVerdicts(t *testing.T) {
	_, text, found := strings.Cut(string(read(t, "semantics.md")), "\n## 16. Items that are met otherwise\n")
	if !found {
		t.Fatal("docs/semantics.md has no table of verdicts")
	}
	rows, rules := verdictRow.FindAllStringSubmatch(text, -1), string(read(t, "semantics.md"))
	for _, row := range rows {
		if !strings.Contains(string(read(t, "requirements.md")), "\n| "+row[1]+" | ") {
			t.Errorf("there is no item %s", row[1])
		}
		if len(strings.Fields(row[2])) < 4 || !strings.Contains(rules, "\n**"+row[3]+".") {
			t.Errorf("%s: no reason with its rule: %s", row[1], row[0])
		}
	}
	if len(rows) < 6 {
		t.Errorf("only %d rows: has the table another form?", len(rows))
	}
}
