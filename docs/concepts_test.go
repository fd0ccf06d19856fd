package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostWords is how many words of its own limpet allows itself.
const mostWords = 20

// TestGlossary: limpet has few words of its own, each with a meaning and a neighbour, and each in use elsewhere.
func TestGlossary(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	var elsewhere strings.Builder
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if page != "concepts.md" {
			elsewhere.WriteString(strings.Join(strings.Fields(strings.ToLower(string(text))), " ") + "\n")
		}
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-zA-Z ]+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(string(read(t, "concepts.md")), -1)
	if rows = rows[1:]; len(rows) < 10 || len(rows) > mostWords {
		t.Errorf("%d words, want 10 to %d", len(rows), mostWords)
	}
	for _, row := range rows {
		if !strings.Contains(elsewhere.String(), strings.ToLower(row[1])) {
			t.Errorf("no other page says %q", row[1])
		}
	}
}
