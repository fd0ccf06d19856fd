package describe

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteText writes a description for people.
func WriteText(out io.Writer, d *Description) error {
	p := &printer{out: out}
	title := d.Object
	if d.Section != "" {
		title += ", sectionName " + d.Section
	}
	p.printLine("%s%s", title, formatPlace(d.File, d.Line))
	switch {
	case d.IsIdle() && len(d.Findings) > 0:
		p.printLine("\nNo request gets to a backend through here:")
		for _, f := range d.Findings {
			p.printLine("  %s", f)
		}
	case d.IsIdle():
		p.printLine("\nNo request gets to a backend through here: " +
			"no rule of a route that is attached to a Gateway leads there.")
	case len(d.Targets)+len(d.Effects)+len(d.Sessions) == 0:
		p.printLine("\nNo session persistence: nothing that is written reaches a request on its way through here.")
	}
	for _, t := range d.Budgets {
		if t.IsNear() {
			p.printLine("\nBudget: %s.", t.Explain())
		}
	}
	p.printTargets(d.Targets)
	for _, e := range d.Effects {
		p.printEffect(e)
	}
	for _, s := range d.Sessions {
		p.printSession(s)
	}
	for _, r := range d.Requests {
		p.printRequests("requests without a session", r.TrafficPath, r.Notes, r.Fields)
	}
	for _, t := range d.Retries {
		p.printRequests("all requests", t.TrafficPath, t.Notes, t.Fields)
	}
	return p.err
}

// printer keeps the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) printLine(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil && p.err == nil {
		p.err = err
	}
}

// printTable writes rows of columns below a heading.
func (p *printer) printTable(heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.printLine("")
	w := tabwriter.NewWriter(p.out, 0, 0, 3, ' ', 0)
	for _, r := range append([][]string{strings.Fields(heading)}, rows...) {
		for i := range r {
			if r[i] == "" {
				r[i] = "-"
			}
		}
		fmt.Fprintln(w, "  "+strings.Join(r, "\t"))
	}
	if err := w.Flush(); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *printer) printTargets(targets []Target) {
	var rows [][]string
	for _, t := range targets {
		reason := t.Reason
		if reason == "" {
			reason = "Attached"
		}
		rows = append(rows, []string{t.Target, t.Path, reason, t.Message})
	}
	p.printTable("TARGET PATH STATE MESSAGE", rows)
}

func (p *printer) printPath(w TrafficPath) {
	rule := "rule " + strconv.Itoa(w.Rule)
	if w.RuleName != "" {
		rule += " (" + w.RuleName + ")"
	}
	p.printLine("\n%s, %s", w.Route, rule)
	p.printLine("  through %s", strings.Join(w.Via, "; "))
	if len(w.Backends) > 0 {
		p.printLine("  to %s", strings.Join(w.Backends, ", "))
	}
}

func (p *printer) printSession(s Session) {
	p.printPath(s.TrafficPath)
	state := "off"
	if s.On {
		state = "on"
	}
	if s.By != nil {
		state += ", by " + s.By.formatSource()
	}
	p.printLine("  session: %s", state)
	for _, r := range s.Refused {
		p.printLine("  refused: %s", r)
	}
	if s.Scope != "" {
		p.printLine("  scope: %s, by the rules of Gateway API %s", s.Scope, s.Generation)
	}
	if s.Name != "" {
		p.printLine("  name: %s", s.Name)
	}
	for _, n := range s.Notes {
		p.printLine("  note: %s", n)
	}
	var rows [][]string
	for _, f := range s.Fields {
		rows = append(
			rows,
			[]string{f.Name, f.Value, f.formatPrecedence(), f.Object, f.formatPlace(), formatOrigins(f.Overrides)},
		)
	}
	p.printTable("FIELD VALUE PRECEDENCE FROM WHERE OVERRIDES", rows)
}

// printRequests prints what holds for some of the requests on a path.
func (p *printer) printRequests(which string, w TrafficPath, notes []string, fields []Field) {
	p.printPath(w)
	p.printLine("  %s:", which)
	for _, n := range notes {
		p.printLine("  note: %s", n)
	}
	var rows [][]string
	for _, f := range fields {
		rows = append(rows, []string{f.Name, f.Value, f.Block, f.Object, f.formatPlace(), formatOrigins(f.Overrides)})
	}
	p.printTable("FIELD VALUE PLACE FROM WHERE OVERRIDES", rows)
}

func (p *printer) printEffect(e Effect) {
	p.printPath(e.TrafficPath)
	for _, n := range e.Notes {
		p.printLine("  note: %s", n)
	}
	var rows [][]string
	for _, f := range e.Effective {
		rows = append(
			rows,
			[]string{
				f.Name,
				f.Value,
				"effective",
				f.formatPrecedence(),
				f.formatPlace(),
				addPrefix("overrides ", formatOrigins(f.Overrides)),
			},
		)
	}
	for _, b := range e.Overridden {
		rows = append(
			rows,
			[]string{b.Name, b.Value, "overridden", b.formatPrecedence(), b.formatPlace(), "by " + b.By.formatBrief()},
		)
	}
	p.printTable("FIELD VALUE STATE PRECEDENCE WHERE NOTE", rows)
}

func formatOrigins(origins []Origin) string {
	parts := make([]string, len(origins))
	for i, o := range origins {
		parts[i] = o.formatBrief()
	}
	return strings.Join(parts, "; ")
}

func (o Origin) formatPrecedence() string {
	if o.Precedence == 0 {
		return o.Block
	}
	return strconv.Itoa(o.Precedence) + " " + o.Block
}

func (o Origin) formatPlace() string {
	return strings.TrimSuffix(strings.TrimPrefix(formatPlace(o.File, o.Line), " ("), ")")
}

// formatSource names the object, the field and the place.
func (o Origin) formatSource() string {
	return strings.TrimSpace(o.Object+" "+o.Path) + formatPlace(o.File, o.Line)
}

// formatBrief is a value, and the object that it is from.
func (o Origin) formatBrief() string {
	whose := o.formatPrecedence()
	if o.File != "" {
		whose += ", " + o.formatPlace()
	}
	return o.Value + addPrefix(" of ", o.Object) + " (" + whose + ")"
}

func addPrefix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// formatPlace is a place in brackets.
func formatPlace(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return " (" + file + ")"
	default:
		return fmt.Sprintf(" (%s:%d)", file, line)
	}
}
