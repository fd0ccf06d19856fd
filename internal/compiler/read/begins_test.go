package read

import "testing"

// TestBegins compares the quick way to a document's first line with the parser's.
func TestBegins(t *testing.T) {
	for text, want := range map[string]int{
		"a: b\n":                       1,
		"\n\n  # c\na: b\n":            4,
		"---\na: b\n":                  2,
		"--- {a: b}\n":                 1,
		"--- # c\n\n# d\r\n{a: b}\r\n": 4,
		"%YAML 1.1\n---\na: b\n":       3,
	} {
		roots, broken := parseYAML([]byte(text))
		if broken != nil || len(roots) != 1 {
			t.Errorf("%q: %v", text, broken)
			continue
		}
		if got, parsed := firstContentLine([]byte(text)), roots[0].Line; got != want || parsed != want {
			t.Errorf("%q: line %d, parsed %d, want %d", text, got, parsed, want)
		}
	}
}
