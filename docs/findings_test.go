package docs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// findingSections are the sections of findings.md, by how their codes begin.
var findingSections = map[string]string{
	"LIM01": "Reading and admission", "LIM02": "Gateways and listeners", "LIM03": "Routes", "LIM04": "Backends", "LIM05": "Sessions",
	"LIM06": "Balancing, retries and filters", "LIM07": "TLS to backends", "LIM08": "Targets",
}

// TestFindings holds that findings.md has what 'limpet explain' says.
func TestFindings(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Findings\n\nFor who reads what limpet says of an input, and wants to know what to do about it.\n\n" +
		"What `limpet check`, `compile`, `run` and `serve` tell of an input, by the code that stands behind each finding; `limpet explain CODE`\n" +
		"says the same. This page is made from one table in the code.\n")
	section := ""
	for _, e := range report.Explanations {
		if s := string(e.Code[:5]); s != section {
			section = s
			fmt.Fprintf(&b, "\n## %s\n", findingSections[s])
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n<!-- output -->\n```text\n%s\n```\n\n%s\n", e.Code, e.Title, e.Meaning, e.Example, e.Do)
	}
	wantPage(t, "findings.md", b.String())
}
