package policyconfig

import (
	"fmt"
	"strings"
	"testing"
)

// document makes a configuration of several policies, each with a name and a route of its own.
func document(policies int, more string) string {
	var b strings.Builder
	b.WriteString(`{"version":"limpet.dev/v1","policies":[`)
	for i := range policies {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"p%d","routes":["r%d"],"sessionName":"s"%s}`, i, i, more)
	}
	b.WriteString("]}")
	return b.String()
}

// listOf makes a JSON list of distinct strings.
func listOf(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`"i%d"`, i)
	}
	return "[" + strings.Join(items, ",") + "]"
}

func TestCountsAndSizes(t *testing.T) {
	one := `{"version":"limpet.dev/v1","policies":[{"name":"p","sessionName":"s","routes":%s}]}`
	clusters := `{"version":"limpet.dev/v1","policies":[{"name":"p","sessionName":"s","routes":["r"],"clusters":%s}]}`
	for _, c := range []struct {
		what, text, want string
	}{
		{"bytes at the limit", document(1, "") + strings.Repeat(" ", MaxBytes-len(document(1, ""))), ""},
		{"one byte more", document(1, "") + strings.Repeat(" ", MaxBytes+1-len(document(1, ""))), "Too long: 33554433 bytes: must have at most 33554432"},
		{"policies at the limit", document(MaxPolicies, ""), ""},
		{"one policy more", document(MaxPolicies+1, ""), "policies: Too many: 100001: must have at most 100000 items"},
		{"routes at the limit", fmt.Sprintf(one, listOf(MaxRoutes)), ""},
		{"one route more", fmt.Sprintf(one, listOf(MaxRoutes+1)), "policies[0].routes: Too many: 10001: must have at most 10000 items"},
		{"clusters at the limit", fmt.Sprintf(clusters, listOf(MaxRoutes)), ""},
		{"one cluster more", fmt.Sprintf(clusters, listOf(MaxRoutes+1)), "policies[0].clusters: Too many: 10001: must have at most 10000 items"},
	} {
		if _, errs := Parse(c.text); errs.Error() != c.want {
			t.Errorf("%s: got %.200q, want %q", c.what, errs.Error(), c.want)
		}
	}
	if _, errs := ParseKeyRing(strings.Repeat(" ", MaxRingBytes+1)); errs.Error() != "Too long: 65537 bytes: must have at most 65536" {
		t.Error(errs)
	}
}

func TestErrorsAreCapped(t *testing.T) {
	_, errs := Parse(document(1000, `,"x":1`))
	if len(errs) != maxErrors+1 {
		t.Fatalf("%d errors", len(errs))
	}
	if got := errs[maxErrors-1].Error(); got != "policies[99].x: unknown field" {
		t.Error(got)
	}
	if got := errs[maxErrors].Error(); got != "and 900 more errors" {
		t.Error(got)
	}
	if lines := strings.Count(errs.Error(), "\n"); lines != maxErrors {
		t.Errorf("%d line breaks", lines)
	}
}

func TestErrorListErr(t *testing.T) {
	if err := (ErrorList{}).Err(); err != nil {
		t.Error(err)
	}
	if err := (ErrorList{{Path: "a", Message: "b"}, {Message: "c"}}).Err(); err == nil || err.Error() != "a: b\nc" {
		t.Error(err)
	}
}

// What a document made up may not break out of its line, nor be arbitrarily long.
func TestMessagesAreOneShortLine(t *testing.T) {
	long := strings.Repeat("é", 1000)
	for _, made := range []string{"a\\nb", "\\u001b[31m", "\\u2028", "\\u202e", long} {
		_, errs := Parse(`{"version":"` + made + `","` + made + `":1,"pinHeader":"` + made + `","policies":[{"name":"` + made + `","routes":["r"],"sessionName":"s"}]}`)
		if len(errs) != 4 {
			t.Errorf("%.20s: %d errors", made, len(errs))
		}
		for _, e := range errs {
			if text := e.Error(); len(text) > 400 || strings.ContainsAny(text, "\n\x1b\u2028\u202e") {
				t.Errorf("%.20s: %q", made, text)
			}
		}
	}
}
