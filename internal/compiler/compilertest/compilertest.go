// Package compilertest makes what tests of the compiler's packages begin with, and compares what most of them end with:
// admitted objects from a few lines of YAML, and the problems that are reported.
package compilertest

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Admit gives the objects of YAML documents, with the defaults that an API server fills in. A document that one would
// refuse ends the test.
func Admit(t testing.TB, documents ...string) *resource.Objects {
	t.Helper()
	objects, rep := TryAdmit(t, resource.Options{}, documents...)
	if problems := rep.Errors(false); problems != nil {
		t.Fatal(problems)
	}
	return objects
}

// TryAdmit is Admit with options, for documents that may be refused: the report says why.
func TryAdmit(t testing.TB, o resource.Options, documents ...string) (*resource.Objects, *report.Report) {
	t.Helper()
	rep := &report.Report{}
	text := strings.Join(documents, "\n---\n")
	objects, err := resource.Admit([]read.Source{{Name: "in.yaml", Data: []byte(text)}}, o, rep)
	if err != nil {
		t.Fatal(err)
	}
	return objects, rep
}

// CheckProblems wants as many problems as there are texts, each with its text in the line that [FormatProblem] gives.
func CheckProblems(t testing.TB, got []report.Problem, want ...string) {
	t.Helper()
	lines := make([]string, len(got))
	for i, p := range got {
		lines[i] = FormatProblem(p)
	}
	matches := len(lines) == len(want)
	for i := 0; matches && i < len(want); i++ {
		matches = strings.Contains(lines[i], want[i])
	}
	if !matches {
		t.Errorf("got %d problems:\n%s\nwant %d, with these texts in order:\n%s",
			len(lines), strings.Join(lines, "\n"), len(want), strings.Join(want, "\n"))
	}
}

// FormatProblem gives a problem without its place in a file, and with its reason: "HTTPRoute default/cart:
// spec.rules[0]: Required value [BackendNotFound]". Advice has that word for a reason.
func FormatProblem(p report.Problem) string {
	reason := p.Reason
	if p.Advice {
		reason = "advice"
	}
	p.File = ""
	if reason == "" {
		return p.String()
	}
	return p.String() + " [" + reason + "]"
}
