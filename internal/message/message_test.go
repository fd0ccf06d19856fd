package message

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
)

func TestPrint(t *testing.T) {
	for text, want := range map[string]string{
		"":           "",
		"one":        "limpet: one\n",
		"one\n":      "limpet: one\n",
		"one\ntwo":   "limpet: one\nlimpet: two\n",
		"one\n\ntwo": "limpet: one\nlimpet: \nlimpet: two\n",
		"100%d":      "limpet: 100%d\n",
	} {
		var b strings.Builder
		if Print(&b, text); b.String() != want {
			t.Errorf("%q: got %q, want %q", text, b.String(), want)
		}
	}
}

func TestPrintProblems(t *testing.T) {
	problems := []compiler.Problem{{File: "a.yaml", Line: 3, Message: "first"}, {Message: "second"}}
	var b strings.Builder
	PrintErrors(&b, problems)
	PrintWarnings(&b, problems[:1])
	if got, want := b.String(), "error: a.yaml:3: first\nerror: second\nwarning: a.yaml:3: first\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 2: "2 errors"} {
		if got := Plural(n, "error"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
