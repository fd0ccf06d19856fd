package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	proofLink   = regexp.MustCompile("\\[`?([A-Za-z0-9_-]+)`?\\]\\(\\.\\./([^)#]+)\\)")
	sharersRow  = regexp.MustCompile(`^\| \*\*(its|a namespace owner's) `)
	findingsRow = regexp.MustCompile(`^\| [HMLI]\d \|`)
)

// TestTrustHasTests: each cell of the table of those who share a proxy names a test or case that is there, and so does each
// finding of the review. Whatever else the page names so is there too.
func TestTrustHasTests(t *testing.T) {
	text, err := os.ReadFile("threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	sharers, findings := 0, 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		switch {
		case sharersRow.MatchString(line):
			sharers++
			if len(cells) != 6 {
				t.Errorf("%s: %d cells, want 6", cells[0], len(cells))
			}
			for _, cell := range cells[1:] {
				checkProofs(t, cells[0], cell)
			}
		case findingsRow.MatchString(line):
			findings++
			checkProofs(t, cells[0], cells[len(cells)-1])
		default:
			checkLinks(t, cells[0], line)
		}
	}
	if sharers < 5 || findings < 16 {
		t.Errorf("only %d rows of those who share and %d findings: has a table another form?", sharers, findings)
	}
}

// checkProofs wants links, and those to tests, cases or scripts that are there.
func checkProofs(t *testing.T, row, cell string) {
	t.Helper()
	if !proofLink.MatchString(cell) {
		t.Errorf("%s: nothing shows %q", row, cell)
	}
	checkLinks(t, row, cell)
}

// checkLinks wants each test, case or script that a text has a link to, if any.
func checkLinks(t *testing.T, row, text string) {
	t.Helper()
	for _, link := range proofLink.FindAllStringSubmatch(text, -1) {
		name, path := link[1], filepath.Join("..", link[2])
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s: %v", row, err)
			continue
		}
		isTest := strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
		if isTest && !strings.Contains(string(text), "\nfunc "+name+"(") || !isTest && !strings.HasPrefix(filepath.Base(path), name+".") {
			t.Errorf("%s: no %s in %s", row, name, path)
		}
	}
}
