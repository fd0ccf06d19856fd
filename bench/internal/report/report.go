// Package report writes what make bench measured: a table of costs, a table of goals, a plot, and their place in
// docs/performance.md.
package report

import (
	"fmt"
	"os"
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/stats"
)

// Cost is a line of the table of costs, in µs of processor time a request.
type Cost struct {
	Title string
	// Whole is the whole request, Over what it costs more than the same request without a filter.
	Whole, Over stats.Interval
	// Base marks requests without a filter, which have no Over.
	Base bool
	// Aside keeps the cost out of the plot, which has another scale.
	Aside bool
}

// Goal is a comparison and the bound that it is held against.
type Goal struct {
	Title, Unit string
	Value       stats.Interval
	// Bound is what the value should not exceed; with None there is nothing to reach.
	Bound float64
	None  bool
	// Same wants no difference shown: an interval that holds 0 or lies below it.
	Same bool
}

// Reached says whether the interval as a whole lies below the bound.
func (g Goal) Reached() string {
	switch {
	case g.None:
		return ""
	case g.Same && g.Value.Low <= 0, !g.Same && g.Value.High <= g.Bound:
		return "yes"
	}
	return "no"
}

func (g Goal) bound() string {
	switch {
	case g.None:
		return ""
	case g.Same:
		return "no difference shown"
	}
	return fmt.Sprintf("≤ %g%s", g.Bound, g.Unit)
}

// Costs is the table of costs as Markdown.
func Costs(costs []Cost) string {
	var b strings.Builder
	b.WriteString("| request | µs | over no filter, µs (90 % interval) |\n|---|---:|---:|\n")
	for _, c := range costs {
		over := ""
		if !c.Base {
			over = fmt.Sprintf("%.1f (%.1f … %.1f)", c.Over.Mid, c.Over.Low, c.Over.High)
		}
		fmt.Fprintf(&b, "| %s | %.1f | %s |\n", c.Title, c.Whole.Mid, over)
	}
	return b.String()
}

// Goals is the table of goals as Markdown.
func Goals(goals []Goal) string {
	var b strings.Builder
	b.WriteString("| comparison | measured (90 % interval) | goal | reached |\n|---|---:|---|---|\n")
	for _, g := range goals {
		fmt.Fprintf(&b, "| %s | %.2f%s (%.2f … %.2f) | %s | %s |\n",
			g.Title, g.Value.Mid, g.Unit, g.Value.Low, g.Value.High, g.bound(), g.Reached())
	}
	return b.String()
}

// Replace puts a text between the comments "<!-- NAME -->" and "<!-- /NAME -->" of a file.
func Replace(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	open, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, found := strings.Cut(string(page), open)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no place %q", path, name)
	}
	return os.WriteFile(path, []byte(before+open+text+end+after), 0o600)
}
