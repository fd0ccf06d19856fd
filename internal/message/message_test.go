package message

import (
	"strings"
	"testing"
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

// TestPrintPassedOver counts by kind, in order, and says nothing of nothing.
func TestPrintPassedOver(t *testing.T) {
	var b strings.Builder
	PrintPassedOver(&b, nil)
	PrintPassedOver(&b, map[string]int{"Deployment": 2, "ConfigMap": 1, "no Kubernetes object": 3, "\x1b[2J": 1})
	want := "limpet: passed over 7 documents that limpet has no use for: 1 \\x1b[2J, 1 ConfigMap, 2 Deployment, 3 no Kubernetes object\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	many := map[string]int{}
	for i := range 30 {
		many[string(rune('A'+i))] = 1
	}
	if PrintPassedOver(&b, many); !strings.Contains(b.String(), ", and 10 more kinds\n") {
		t.Errorf("got %q", b.String())
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 2: "2 errors"} {
		if got := Plural(n, "error"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestMakePrintable: what a terminal would obey is escaped, and what it shows stays.
func TestMakePrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		`no rule named "profile"`: `no rule named "profile"`,
		`^\d+$ ends in \`:         `^\d+$ ends in \`,
		"é\x1b[2J\n\xff\"":        "é\\x1b[2J\\n\\xff\"",
	} {
		if got := MakePrintable(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
