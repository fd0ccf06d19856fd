package message

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// missing is a warning of a route whose backend is not there.
func missing(i int) compiler.Problem {
	return compiler.Problem{
		Code: report.BackendNotFound, Object: fmt.Sprintf("HTTPRoute shop/r%d", i), Path: "spec.rules[0]", Message: fmt.Sprintf("Not found: s%d", i),
		File: "r.yaml", Line: i,
	}
}

// TestPrintProblems: the worst first, what follows from the rest last, and a finding of many objects once.
func TestPrintProblems(t *testing.T) {
	empty := compiler.Problem{Code: report.NothingServed, Message: "no listener is left", LeftOut: true}
	advice := compiler.Problem{Code: report.PlainCookie, Object: "Gateway shop/web", Message: "plain", Advice: true}
	refused := compiler.Problem{Code: report.InvalidField, Object: "Gateway shop/g", Message: "Required value", File: "g.yaml", Line: 2, LeftOut: true}
	many := []compiler.Problem{empty, advice, refused}
	for i := range 3000 {
		many = append(many, missing(i+1))
	}
	for name, c := range map[string]struct {
		problems []compiler.Problem
		style    Style
		want     string
	}{
		"many": {many, Style{Least: compiler.Advice}, `error: g.yaml:2: Gateway shop/g: Required value [LIM0102]
warning: 3,000 times: a backendRef leads to nothing [LIM0401]
  r.yaml:1: HTTPRoute shop/r1: spec.rules[0]: Not found: s1
  r.yaml:2: HTTPRoute shop/r2: spec.rules[0]: Not found: s2
  r.yaml:3: HTTPRoute shop/r3: spec.rules[0]: Not found: s3
  and 2,997 more; -v lists them all
advice: Gateway shop/web: plain [LIM0512]
error: no listener is left [LIM0107]
`},
		"advice twice": {[]compiler.Problem{advice, missing(1), missing(2), advice}, Style{Least: compiler.Advice}, `warning: r.yaml:1: HTTPRoute shop/r1: spec.rules[0]: Not found: s1 [LIM0401]
warning: r.yaml:2: HTTPRoute shop/r2: spec.rules[0]: Not found: s2 [LIM0401]
advice: 2 times: plain [LIM0512]
  Gateway shop/web
  Gateway shop/web
`},
		"without advice":      {[]compiler.Problem{advice, missing(1)}, Style{}, "warning: r.yaml:1: HTTPRoute shop/r1: spec.rules[0]: Not found: s1 [LIM0401]\n"},
		"refused alone":       {[]compiler.Problem{advice, missing(1), refused}, Style{Least: compiler.Refused}, "error: g.yaml:2: Gateway shop/g: Required value [LIM0102]\n"},
		"all":                 {[]compiler.Problem{missing(1), missing(2), missing(3), missing(4)}, Style{All: true}, "4 lines"},
		"other words, broad":  {broad("a", "b", "c", "d"), Style{}, "4 lines"},
		"the same, broad":     {broad("a", "a", "a", "a", "a"), Style{}, "error: 5 times: a [LIM0102]\n  x: r\n  x: r\n  x: r\n  and 2 more; -v lists them all\n"},
		"wrapped and colored": {[]compiler.Problem{missing(1)}, Style{Width: 40, Color: true}, "\x1b[1;33mwarning:\x1b[0m r.yaml:1: HTTPRoute shop/r1:\n    spec.rules[0]: Not found: s1\n    [LIM0401]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			PrintProblems(&b, c.problems, c.style)
			got := b.String()
			if c.want == "4 lines" {
				got = fmt.Sprintf("%d lines", strings.Count(got, "\n"))
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func broad(words ...string) (all []compiler.Problem) {
	for _, w := range words {
		all = append(all, compiler.Problem{Code: report.InvalidField, File: "x", Object: "r", Message: w, LeftOut: true})
	}
	return all
}

// TestPrintForGitHub escapes what would end a workflow command.
func TestPrintForGitHub(t *testing.T) {
	var b strings.Builder
	PrintForGitHub(&b, []status.Row{
		{Object: "HTTPRoute a/b", Verdict: compiler.Accepted},
		{Code: report.InvalidField, Severity: "error", Object: "HTTPRoute a/b", Message: "100%\n::x", File: "a,b:c.yaml", Line: 7},
		{Code: report.PlainCookie, Severity: "advice", Message: "m", File: "d.yaml"},
	})
	want := "::error file=a%2Cb%3Ac.yaml,line=7,title=LIM0102::HTTPRoute a/b: 100%25%0A::x\n::notice file=d.yaml,title=LIM0512::m\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestSummary counts objects by the worst that is said of each.
func TestSummary(t *testing.T) {
	row := func(object string, v compiler.Verdict) status.Row { return status.Row{Object: object, Verdict: v} }
	for want, rows := range map[string][]status.Row{
		"no object of a kind that limpet serves": nil,
		"no object of a kind that limpet serves, and 1 error of no object": {
			{Verdict: compiler.Refused, Code: report.FileUnreadable}, {Verdict: compiler.Refused, Code: report.NothingServed},
		},
		"1 route: 1 accepted, and 2 errors of no object": {
			row("HTTPRoute a/b", compiler.Accepted), row("", compiler.Refused), row("", compiler.Refused), row("", compiler.Warning),
		},
		"1 route: 1 accepted, but nothing is served": {
			row("HTTPRoute a/b", compiler.Accepted), {Verdict: compiler.Refused, Code: report.NothingServed},
		},
		"1 route and 1 other object: all accepted": {row("HTTPRoute a/b", compiler.Accepted), row("Gateway a/b", compiler.Advice)},
		"2 routes: 0 accepted, 1 warning, 1 refused": {
			row("HTTPRoute a/b", compiler.Warning), row("GRPCRoute a/b", compiler.Refused), row("GRPCRoute a/b", compiler.Advice),
		},
	} {
		if got := Summary(rows); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
