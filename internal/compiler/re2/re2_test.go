package re2_test

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/re2"
)

// TestExplain takes what Envoy takes, and says why it would not take the rest.
func TestExplain(t *testing.T) {
	for expression, want := range map[string]string{
		"":                               "",
		"/shop/[^/]+/cart":               "",
		`^/v[0-9]{1,3}/(?P<name>\w+)$`:   "",
		`\p{Greek}+`:                     "",
		"(":                              "must be an expression of RE2: missing closing )",
		`(a)\1`:                          "must be an expression of RE2: invalid escape sequence",
		"(?=a)":                          "must be an expression of RE2: invalid or unsupported Perl syntax",
		"(?<name>a)":                     "a named group is (?P<name>...)",
		"a{1001}":                        "must be an expression of RE2: invalid repeat count",
		`\pL{50}`:                        "may have 2000",
		strings.Repeat("a", 5000):        "must be at most 4096 bytes",
		`\p{Any}\P{^Han}\p{Lu}`:          "may have 2000",
		`/\xC3\xA9\x{ff}`:                "",
		"/é":                             "must be ASCII",
		`\x{100}`:                        `\x{100}: Envoy compares bytes`,
		`[^\x00-\x{10FFFF}]`:             "Envoy compares bytes",
		`\p{ASCII}`:                      `\p{ASCII}: neither a script`,
		`\P{LC}`:                         `\P{LC}: neither a script`,
		`\p{greek}`:                      `\p{greek}: neither a script`,
		`\p{Number}`:                     `\p{Number}: neither a script`,
		`\\p{Number}`:                    "",
		strings.Repeat("(a|b)*c", 500):   "may have 2000",
		strings.Repeat("/[a-z]{1,8}", 9): "",
	} {
		if got := re2.Explain(expression); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%.40q: got %q, want %q", expression, got, want)
		}
	}
}

// TestSizeCountsBytes holds that characters beyond ASCII cost more, as RE2's programs are of bytes.
func TestSizeCountsBytes(t *testing.T) {
	narrow, err := re2.Size("[a-z]{10}")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := re2.Size("[à-ö]{10}")
	if err != nil || wide < 4*narrow {
		t.Errorf("%d and %d instructions, %v", narrow, wide, err)
	}
}
