package sessionapi

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestGenerationNames holds the names to the values of --gateway-api.
func TestGenerationNames(t *testing.T) {
	if Unstated.String() != "" || Release16.String() != "1.6" || Release17.String() != "1.7" {
		t.Errorf("%q, %q, %q", Unstated, Release16, Release17)
	}
}

// TestSigns tries what a rule can show with each value of --gateway-api.
func TestSigns(t *testing.T) {
	const none = "-"
	for _, c := range []struct {
		name, inline string
		xbackend     bool
		option, want APIRelease
		errors       string
		warnings     string
	}{
		{"S18 nothing shows", none, false, Unstated, Release16, "", ""},
		{"S18 nothing shows inline", `{absoluteTimeout: 1h}`, false, Unstated, Release16, "", ""},
		{"S18 the option decides, 1.7", none, false, Release17, Release17, "", ""},
		{"S18 the option decides inline, 1.7", `{type: Header}`, false, Release17, Release17, "", ""},
		{"S18 the option decides, 1.6", none, false, Release16, Release16, "", ""},
		{"S18 1.6 shows whatever the option", `{sessionName: a}`, false, Release17, Release16, "", ""},
		{"S18 1.7 shows", `{cookie: {}}`, false, Unstated, Release17, "", ""},
		{"S18 an XBackend shows 1.7", none, true, Release16, Release17, "", ""},
		{"S18 an XBackend shows 1.7 beside what does not show", `{absoluteTimeout: 1h}`, true, Unstated, Release17, "", ""},
		{"S19 2A.9 1.6 beside an XBackend", `{sessionName: a, idleTimeout: 1m}`, true, Unstated, Release16, "sessionName idleTimeout", ""},
		{"S19 2A.9 1.7 beside an XBackend", `{cookie: {}}`, true, Unstated, Release17, "", "cookie: is deprecated"},
		{"S20 1.7 for a 1.6 cluster", `{cookie: {name: a}}`, false, Release16, Release17, "", "cookie: is a field of Gateway API 1.7: a cluster with 1.6 drops it"},
		{"S20 1.7 header for a 1.6 cluster", `{type: Header, header: {name: a}}`, false, Release16, Release17, "", "header: is a field of Gateway API 1.7: a cluster with 1.6 drops it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ReleaseHints{Path: inlinePath, XBackend: c.xbackend, Option: c.option}
			if c.inline != none {
				inline, errs := ReadInline(fromYAML(t, c.inline), inlinePath)
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				s.Inline = inline
			}
			if got := s.Release(); got != c.want {
				t.Errorf("is of %s, want %s", got, c.want)
			}
			compareNotes(t, s.Errors(), strings.Fields(c.errors))
			var warnings []string
			if c.warnings != "" {
				warnings = []string{c.warnings}
			}
			compareNotes(t, s.Warnings(), warnings)
		})
	}
}

// compareNotes holds the notes to what each begins with, below the path, as "FIELD" or "FIELD: WORDS".
func compareNotes(t *testing.T, got field.ErrorList, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		name, words, _ := strings.Cut(want[i], ": ")
		if got[i].Field != inlinePath.Child(name).String() || !strings.HasPrefix(got[i].Detail, words) {
			t.Errorf("got %v, want %s", got[i], want[i])
		}
	}
}
