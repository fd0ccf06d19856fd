package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	verdictRow = regexp.MustCompile(`(?m)^\| (2[AC]\.\d+|2B\.O\d+) \| (\w+) \| (.*) \|$`)
	inTicks    = regexp.MustCompile("`([^`]+)`")
	ruleInText = regexp.MustCompile(`\bS[1-9]\d*\b`)
	testName   = regexp.MustCompile(`^(Test[A-Z0-9]\w*|[a-z0-9]+(-[a-z0-9]+)+|itemCases)$`)
)

// verdictTable gives the rows of the table of verdicts in semantics.md.
func verdictTable(t *testing.T) [][]string {
	t.Helper()
	_, text, found := strings.Cut(string(read(t, "semantics.md")), "\n## 16. Every item, and how it is met\n")
	if !found {
		t.Fatal("docs/semantics.md has no table of verdicts")
	}
	return verdictRow.FindAllStringSubmatch(text, -1)
}

// TestVerdicts holds that every item of 2A, 2B and 2C has one row, in the order of requirements.md; that what is ok names
// tests that hold it, by their own marks; and that what is not has a reason with the rule that gives it.
func TestVerdicts(t *testing.T) {
	var items, rows []string
	for line := range strings.Lines(string(read(t, "requirements.md"))) {
		if m := itemRow.FindStringSubmatch(strings.TrimSpace(line)); m != nil && regexp.MustCompile(`^2[ABC]`).MatchString(m[1]) {
			items = append(items, m[1])
		}
	}
	marks := marksOfTree(t)
	for _, row := range verdictTable(t) {
		rows = append(rows, row[1])
		switch row[2] {
		case "ok":
			checkTestsHold(t, row[1], row[3], marks)
		case "partly", "otherwise":
			checkReason(t, row[1], row[3])
		default:
			t.Errorf("%s: no verdict: %s", row[1], row[2])
		}
	}
	if len(items) < 60 || !slices.Equal(items, rows) {
		t.Errorf("the items are\n%v, the table has\n%v", items, rows)
	}
}

// checkTestsHold holds that an item's row names tests, each of which has the item's mark.
func checkTestsHold(t *testing.T, item, text string, marks map[string][]held) {
	t.Helper()
	named := 0
	for _, m := range inTicks.FindAllStringSubmatch(text, -1) {
		if !testName.MatchString(m[1]) {
			continue
		}
		named++
		if !slices.ContainsFunc(marks[item], func(h held) bool { return h.name == m[1] }) {
			t.Errorf("%s: %s is no test with the mark %s; those are %v", item, m[1], item, marks[item])
		}
	}
	if named == 0 {
		t.Errorf("%s is ok by no test: %s", item, text)
	}
}

// checkReason holds that a row says why in words, and by which rule of semantics.md.
func checkReason(t *testing.T, item, text string) {
	t.Helper()
	rules := ruleInText.FindAllString(text, -1)
	if len(strings.Fields(text)) < 8 || len(rules) == 0 {
		t.Errorf("%s: no reason with its rule: %s", item, text)
	}
	for _, rule := range rules {
		if !strings.Contains(string(read(t, "semantics.md")), "\n**"+rule+".") {
			t.Errorf("%s speaks of %s", item, rule)
		}
	}
}
