package describe

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Text writes a description for people.
func Text(out io.Writer, d *Description) error {
	p := &printer{out: out}
	title := d.Object
	if d.Section != "" {
		title += ", sectionName " + d.Section
	}
	p.line("%s%s", title, at(d.File, d.Line))
	switch {
	case len(d.Targets)+len(d.Effects)+len(d.Sessions)+len(d.Requests) == 0:
		p.line("\nNothing that is written reaches a request on its way through here.")
	case len(d.Targets)+len(d.Effects)+len(d.Sessions) == 0:
		p.line("\nNo session persistence: nothing that is written reaches a request on its way through here.")
	}
	p.targets(d.Targets)
	for _, e := range d.Effects {
		p.effect(e)
	}
	for _, s := range d.Sessions {
		p.session(s)
	}
	for _, r := range d.Requests {
		p.requests("requests without a session", r.Way, r.Notes, r.Fields)
	}
	for _, t := range d.Tries {
		p.requests("all requests", t.Way, t.Notes, t.Fields)
	}
	return p.err
}

// printer keeps the first error.
type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if _, err := fmt.Fprintf(p.out, format+"\n", args...); err != nil && p.err == nil {
		p.err = err
	}
}

// table writes rows of columns below a heading.
func (p *printer) table(heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("")
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

func (p *printer) targets(targets []Target) {
	var rows [][]string
	for _, t := range targets {
		reason := t.Reason
		if reason == "" {
			reason = "Attached"
		}
		rows = append(rows, []string{t.Target, t.Path, reason, t.Message})
	}
	p.table("TARGET PATH STATE MESSAGE", rows)
}

func (p *printer) way(w Way) {
	rule := "rule " + strconv.Itoa(w.Rule)
	if w.RuleName != "" {
		rule += " (" + w.RuleName + ")"
	}
	p.line("\n%s, %s", w.Route, rule)
	p.line("  through %s", strings.Join(w.Via, "; "))
	if len(w.Backends) > 0 {
		p.line("  to %s", strings.Join(w.Backends, ", "))
	}
}

func (p *printer) session(s Session) {
	p.way(s.Way)
	state := "off"
	if s.On {
		state = "on"
	}
	if s.By != nil {
		state += ", by " + s.By.from()
	}
	p.line("  session: %s", state)
	for _, r := range s.Refused {
		p.line("  refused: %s", r)
	}
	if s.Scope != "" {
		p.line("  scope: %s, by the rules of Gateway API %s", s.Scope, s.Generation)
	}
	if s.Name != "" {
		p.line("  carried in: %s", s.Name)
	}
	for _, n := range s.Notes {
		p.line("  note: %s", n)
	}
	var rows [][]string
	for _, f := range s.Fields {
		rows = append(rows, []string{f.Name, f.Value, f.rung(), f.Object, f.where(), beats(f.Beats)})
	}
	p.table("FIELD VALUE RUNG FROM WHERE BEATS", rows)
}

// requests shows what holds for some of the requests on a way.
func (p *printer) requests(which string, w Way, notes []string, fields []Field) {
	p.way(w)
	p.line("  %s:", which)
	for _, n := range notes {
		p.line("  note: %s", n)
	}
	var rows [][]string
	for _, f := range fields {
		rows = append(rows, []string{f.Name, f.Value, f.Block, f.Object, f.where(), beats(f.Beats)})
	}
	p.table("FIELD VALUE PLACE FROM WHERE BEATS", rows)
}

func (p *printer) effect(e Effect) {
	p.way(e.Way)
	for _, n := range e.Notes {
		p.line("  note: %s", n)
	}
	var rows [][]string
	for _, f := range e.Holds {
		rows = append(rows, []string{f.Name, f.Value, "holds", f.rung(), f.where(), prefixed("beats ", beats(f.Beats))})
	}
	for _, b := range e.Beaten {
		rows = append(rows, []string{b.Name, b.Value, "beaten", b.rung(), b.where(), "by " + b.By.brief()})
	}
	p.table("FIELD VALUE STATE RUNG WHERE NOTE", rows)
}

func beats(origins []Origin) string {
	parts := make([]string, len(origins))
	for i, o := range origins {
		parts[i] = o.brief()
	}
	return strings.Join(parts, "; ")
}

func (o Origin) rung() string {
	if o.Rung == 0 {
		return o.Block
	}
	return strconv.Itoa(o.Rung) + " " + o.Block
}

func (o Origin) where() string {
	return strings.TrimSuffix(strings.TrimPrefix(at(o.File, o.Line), " ("), ")")
}

// from names the object, the field and the place.
func (o Origin) from() string {
	return strings.TrimSpace(o.Object+" "+o.Path) + at(o.File, o.Line)
}

// brief is a value and whose it is.
func (o Origin) brief() string {
	whose := o.rung()
	if o.File != "" {
		whose += ", " + o.where()
	}
	return o.Value + prefixed(" of ", o.Object) + " (" + whose + ")"
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// at is a place in brackets.
func at(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return " (" + file + ")"
	default:
		return fmt.Sprintf(" (%s:%d)", file, line)
	}
}
