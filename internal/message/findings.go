package message

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// Style says which findings are printed, and how.
type Style struct {
	// Least is the least verdict of those that are printed; nothing is a warning's.
	Least compiler.Verdict
	// All prints every object of a finding that many have; else the first ones stand for the others.
	All bool
	// Width is that of a terminal, at which lines are wrapped; 0 does not wrap. Color has severities in color.
	Width int
	Color bool
}

// On fits a style to where it is printed: terminals are wrapped at and, without NO_COLOR, have color.
func (s Style) On(to io.Writer) Style {
	s.Width = widthOf(to)
	s.Color = IsTerminal(to) && os.Getenv("NO_COLOR") == ""
	return s
}

// maxAlike is how many objects of one finding are listed one by one.
const maxAlike = 3

// severityColor has how findings' lines begin, with the color. A finding has one severity, whatever command tells of
// it.
var severityColor = map[string]string{
	"error": "\x1b[1;31m", "unknown": "\x1b[1;33m", "warning": "\x1b[1;33m", "advice": "\x1b[1;36m",
}

// PrintProblems prints what there is to say of an input: the worst first, and what follows from all else last.
func PrintProblems(to io.Writer, problems []compiler.Problem, style Style) {
	PrintFindings(to, status.ProblemRows(problems), style)
}

// PrintFindings is PrintProblems for rows; those of objects that are just accepted are passed over.
func PrintFindings(to io.Writer, rows []status.Row, style Style) {
	for _, alike := range groupFindings(rows, cmp.Or(style.Least, compiler.Warning)) {
		if style.All || len(alike) <= listedAlone(alike) {
			for _, r := range alike {
				style.printLine(to, r.Severity, joinParts(r.Place(), r.Object, r.Path, r.Message)+code(r))
			}
			continue
		}
		what := title(alike)
		style.printLine(to, alike[0].Severity, fmt.Sprintf("%s times: %s%s", thousands(len(alike)), cmp.Or(what,
			alike[0].Message), code(alike[0])))
		for _, r := range alike[:min(len(alike), maxAlike)] {
			own := r.Message
			if what == "" {
				own = ""
			}
			style.print(to, "  "+joinParts(r.Place(), r.Object, r.Path, own))
		}
		if more := len(alike) - maxAlike; more > 0 {
			style.print(to, fmt.Sprintf("  and %s more; -v lists them all", thousands(more)))
		}
	}
}

// listedAlone is how many objects of one finding are listed without a heading: of advice in the same words, which
// nobody has to follow, one.
func listedAlone(alike []status.Row) int {
	if alike[0].Severity == "advice" && title(alike) == "" {
		return 1
	}
	return maxAlike
}

// title is what findings with different words have in common; empty where their words are the same.
func title(alike []status.Row) string {
	differs := slices.ContainsFunc(alike, func(r status.Row) bool { return r.Message != alike[0].Message })
	if explanation, known := report.Explain(alike[0].Code); differs && known {
		return explanation.Title
	}
	return ""
}

// groupFindings puts together what is the same finding of several objects, in order.
func groupFindings(rows []status.Row, least compiler.Verdict) [][]status.Row {
	type key struct {
		severity string
		code     report.Code
		message  string
	}
	var groups [][]status.Row
	at := map[key]int{}
	for _, r := range rows {
		if r.Severity == "" || !r.Verdict.AtLeast(least) {
			continue
		}
		k := key{r.Severity, r.Code, r.Message}
		if explanation, known := report.Explain(r.Code); known && !explanation.Broad {
			k.message = ""
		}
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	slices.SortStableFunc(groups, func(a, b []status.Row) int { return cmp.Compare(rank(a[0]), rank(b[0])) })
	return groups
}

// rank orders findings: the worst first, and that nothing is served last, for it follows from what stands before.
func rank(r status.Row) int {
	if r.Code == report.NothingServed {
		return len(severityColor)
	}
	return slices.Index([]string{"error", "unknown", "warning", "advice"}, r.Severity)
}

func code(r status.Row) string {
	if r.Code == "" {
		return ""
	}
	return " [" + string(r.Code) + "]"
}

func (s Style) printLine(to io.Writer, severity, text string) {
	begin := severity + ":"
	if s.Color {
		begin = severityColor[severity] + begin + "\x1b[0m"
	}
	fmt.Fprintf(to, "%s%s\n", begin, strings.TrimPrefix(s.Wrap(severity+": "+text), severity+":"))
}

func (s Style) print(to io.Writer, text string) { fmt.Fprintln(to, s.Wrap(text)) }

// Wrap breaks a text into lines that fit, all but the first indented. A word that is too long is left whole.
func (s Style) Wrap(text string) string {
	const indent = "    "
	if s.Width <= len(indent) || len(text) <= s.Width {
		return text
	}
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
		case column+1+len(word) > s.Width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// joinParts joins what is there of a message's parts.
func joinParts(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
}

// thousands writes a number as 3,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// CountFindings counts problems by severity, such as "2 errors, 1 warning"; advice is not counted.
func CountFindings(problems []compiler.Problem) string {
	counts := map[string]int{}
	for _, p := range problems {
		counts[p.Verdict().Severity()]++
	}
	var parts []string
	for _, severity := range []string{"error", "warning"} {
		if n := counts[severity]; n > 0 {
			parts = append(parts, Plural(n, severity))
		}
	}
	return strings.Join(parts, ", ")
}
