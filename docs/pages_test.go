package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPagesSayForWhom: the first words of each page below its title say who should read it.
func TestPagesSayForWhom(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		_, text, _ := strings.Cut(string(read(t, page)), "\n\n")
		if !strings.HasPrefix(text, "For ") {
			t.Errorf("%s does not begin with for whom it is: %.60q", page, text)
		}
	}
}
