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
	var routes, others, other int
	for _, r := range rows {
		if r.Object == "" {
			if r.Verdict == compiler.Refused && r.Code != report.NothingServed {
				other++
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
	summary := nameCounts(routes, others) + ": " + nameVerdicts(counts, len(worst))
	if len(worst) == 0 {
		summary = "no object of a kind that limpet serves"
	}
	if other > 0 {
		summary += ", and " + count(other, "error") + " of no object"
	}
	return summary
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

func nameVerdicts(counts map[compiler.Verdict]int, all int) string {
	accepted := counts[compiler.Accepted] + counts[compiler.Advice]
	if accepted == all {
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
