package inspect

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/limpet-proxy/limpet/internal/message"
)

// WriteText prints findings for people, as they are at a time.
func WriteText(to io.Writer, findings []Finding, at time.Time) error {
	for i := range findings {
		w := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
		if i > 0 {
			fmt.Fprintln(w)
		}
		findings[i].write(&lines{w, at})
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// lines are those of one finding.
type lines struct {
	to io.Writer
	at time.Time
}

// add adds a line, unless there is nothing to say in it.
func (l *lines) add(label, text string) {
	if text != "" {
		fmt.Fprintf(l.to, "  %s\t%s\n", label, message.MakePrintable(text))
	}
}

// relativeTime is a time, and how long ago or ahead it is.
func (l *lines) relativeTime(t time.Time) string {
	if t.After(l.at) {
		return fmt.Sprintf("%s, in %s", formatTime(t), formatSpan(l.at, t))
	}
	return fmt.Sprintf("%s, %s ago", formatTime(t), formatSpan(t, l.at))
}

// formatSpan is the time between two, in days where it is years: a duration has no room for centuries.
func formatSpan(from, to time.Time) string {
	const day = 24 * 60 * 60
	if days := (to.Unix() - from.Unix()) / day; days > 1000 {
		return fmt.Sprintf("%d days", days)
	}
	return to.Sub(from).Round(time.Second).String()
}

func (f *Finding) write(l *lines) {
	fmt.Fprintf(l.to, "%s at line %d, column %d", f.Kind, f.Line, f.Column)
	if f.Times > 1 {
		fmt.Fprintf(l.to, ", there %d times", f.Times)
	}
	fmt.Fprintln(l.to)
	for _, v := range f.Verdicts {
		l.add("outcome", strings.TrimSuffix(v.Outcome+": "+v.Reason, ": "))
		if v.Policy != "" {
			l.add("policy", v.Policy+", "+v.Carrier)
		}
	}
	if f.Key == nil {
		return
	}
	l.add("key", f.Key.String())
	l.add("scope", f.Scope.String())
	if f.Ends != nil {
		l.add("ends", l.relativeTime(*f.Ends))
	}
	if f.Session != nil {
		f.Session.write(l)
	}
	for _, word := range f.Logged {
		l.add("in the log", word.Session+" while key "+word.Key+" signs")
		fmt.Fprintf(l.to, "  \tgrep -F '\"session\":\"%s\"'\n", word.Session)
	}
	if !f.Verified {
		l.add("unverified", "what it says is what anybody may have written")
	}
}

// String is the name, or the tag where that is all there is.
func (n *Named) String() string {
	if n.Name == "" {
		return "unknown, tag " + n.Tag
	}
	return n.Name
}

func (s *Session) write(l *lines) {
	l.add("began", l.relativeTime(s.Began))
	l.add("last seen", l.relativeTime(s.LastSeen)+", as far as the token says")
	l.add("epoch", fmt.Sprint(s.Epoch))
	if s.Hidden {
		l.add("host", "hidden: the key that signed it opens it")
	}
	if s.Host == nil {
		return
	}
	l.add("id", s.ID)
	l.add("host", s.Host.Address)
	for _, who := range s.Host.Who {
		l.add("", who)
	}
	if s.Backend != nil {
		l.add("backend", s.Backend.String())
	}
	if s.Owner != nil {
		l.add("pod", s.Owner.String())
	}
}
