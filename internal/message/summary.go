package message

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Summary says in a line what becomes of objects: "3,000 routes: 2,998 accepted, 1 warning, 1 refused".
func Summary(rows []status.Row) string {
	worst := map[string]compiler.Verdict{}
	var routes, others, ofNone int
	idle := false
	for _, r := range rows {
		if r.Object == "" {
			switch {
			case r.Code == report.NothingServed:
				idle = true
			case r.Verdict == compiler.Refused:
				ofNone++
			}
			continue
		}
		if r.Code == report.UnreadKind {
			continue
		}
		was, known := worst[r.Object]
		if !known {
			if kind, _, _ := strings.Cut(r.Object, " "); strings.HasSuffix(kind, "Route") || kind == "HTTPProxy" {
				routes++
			} else {
				others++
			}
		}
		if !known || r.Verdict.AtLeast(was) {
			worst[r.Object] = r.Verdict
		}
	}
	counts := map[compiler.Verdict]int{}
	for _, v := range worst {
		counts[v]++
	}
	return nameObjects(routes, others, nameVerdicts(counts, idle || ofNone > 0), idle) + nameErrors(ofNone)
}

// nameObjects says what becomes of how many; idle is that nothing is served.
func nameObjects(routes, others int, verdicts string, idle bool) string {
	switch {
	case routes+others == 0:
		return "no object of a kind that limpet serves"
	case idle:
		return nameCounts(routes, others) + ": " + verdicts + ", but nothing is served"
	default:
		return nameCounts(routes, others) + ": " + verdicts
	}
}

// nameErrors counts errors that are about no object.
func nameErrors(n int) string {
	if n == 0 {
		return ""
	}
	return ", and " + count(n, "error") + " of no object"
}

func nameCounts(routes, others int) string {
	switch {
	case routes == 0:
		return count(others, "object")
	case others == 0:
		return count(routes, "route")
	default:
		return count(routes, "route") + " and " + count(others, "other object")
	}
}

// nameVerdicts counts verdicts. Beneath an error, of whatever, it does not say that all is well.
func nameVerdicts(counts map[compiler.Verdict]int, anyError bool) string {
	accepted := counts[compiler.Accepted] + counts[compiler.Advice]
	if !anyError && counts[compiler.Warning]+counts[compiler.Unknown]+counts[compiler.Refused] == 0 {
		return "all accepted"
	}
	parts := []string{thousands(accepted) + " accepted"}
	if n := counts[compiler.Warning]; n > 0 {
		parts = append(parts, count(n, "warning"))
	}
	if n := counts[compiler.Unknown]; n > 0 {
		parts = append(parts, thousands(n)+" unknown")
	}
	if n := counts[compiler.Refused]; n > 0 {
		parts = append(parts, thousands(n)+" refused")
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%s %s", thousands(n), noun)
}
