package describe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ladder"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Input is what was decided, and the input's objects by their String.
type Input struct {
	Decisions *policy.Decisions
	Spreads   []*lower.Spread
	Balancers []loadbalancing.Attachment
	Subjects  map[string]report.Subject
}

type describer struct{ Input }

// Describe says what affects an object, or a listener or rule of it by the section's name; of a policy, what it
// affects. The object is one of the input's.
func Describe(object ladder.Object, section string, in Input) *Description {
	d := &describer{in}
	out := &Description{Object: object.String(), Section: section}
	out.File, out.Line = d.place(out.Object, "")
	target := ladder.Target{Object: object, Section: section}
	for _, decision := range d.Decisions.Ways {
		if slices.Contains(decision.Way.Targets(), target) {
			out.Sessions = append(out.Sessions, d.session(decision))
		}
		if effect, any := d.effect(object, decision); any && isPolicy(object) {
			out.Effects = append(out.Effects, effect)
		}
	}
	out.Sessions = together(out.Sessions, via)
	out.Targets = d.targets(object)
	d.requests(out, target)
	out.Effects = together(together(out.Effects, via), backends)
	return out
}

// isPolicy reports whether an object attaches to others.
func isPolicy(object ladder.Object) bool {
	return slices.Contains([]string{ladder.KindSessionPolicy, ladder.KindTrafficPolicy, ladder.KindLoadBalancer}, object.Kind)
}

// targets is what became of a policy's targets.
func (d *describer) targets(object ladder.Object) (all []Target) {
	for _, a := range d.Decisions.Attachments {
		if a.Policy.Object == object {
			all = append(all, Target{Target: a.Target.String(), Path: a.Path, Reason: a.Reason, Message: a.Message})
		}
	}
	for _, a := range d.Balancers {
		if a.Policy.Object == object {
			all = append(all, Target{Target: a.Target.String(), Path: a.Path, Reason: a.Reason, Message: a.Message})
		}
	}
	return all
}

// via and backends are the parts of a way that things may differ in and yet be put together.
func via(w *Way) *[]string      { return &w.Via }
func backends(w *Way) *[]string { return &w.Backends }

// together puts items that differ in nothing but a part of their ways into one, with all of it.
func together[T any, P interface {
	*T
	way() *Way
}](items []T, part func(*Way) *[]string,
) []T {
	var out []T
	first := map[string]int{}
	for _, item := range items {
		list := part(P(&item).way())
		own := *list
		*list = nil
		text, _ := json.Marshal(item) // of strings, numbers and lists: it can't fail
		*list = own
		at, known := first[string(text)]
		if !known {
			first[string(text)] = len(out)
			out = append(out, item)
			continue
		}
		all := part(P(&out[at]).way())
		*all = append(slices.Clip(*all), own...)
	}
	return out
}

func wayOf(way ladder.Way, rule int) Way {
	w := Way{
		Route: way.Route.String(), Rule: rule, RuleName: way.Rule,
		Via: []string{way.Gateway.String() + ", listener " + way.Listener},
	}
	for _, b := range way.Backends {
		w.Backends = append(w.Backends, b.String())
	}
	return w
}

// session shows what holds on a way.
func (d *describer) session(decision *policy.Decision) Session {
	e := &decision.Effective
	s := Session{Way: wayOf(decision.Way, decision.Rule), On: e.On, Generation: decision.Generation.String(), Scope: decision.Scope, Name: decision.Name}
	s.By = d.switchedBy(e)
	for _, r := range decision.Refusals {
		s.Refused = append(s.Refused, r.Path+": "+r.Message)
	}
	if !e.On {
		return s
	}
	for i := range e.Fields {
		if f := d.field(&e.Fields[i], decision); f.Name != "disabled" && (f.Value != "" || len(f.Beats) > 0) {
			s.Fields = append(s.Fields, f)
		}
	}
	for _, drop := range e.Dropped {
		s.Notes = append(s.Notes, drop.Source.String()+": "+drop.Message())
	}
	for _, c := range e.Conflicts {
		s.Notes = append(s.Notes, c.Loser.String()+": "+c.Message())
	}
	return s
}

// switchedBy is what turns sessions on, or off.
func (d *describer) switchedBy(e *ladder.Effective) *Origin {
	switch {
	case e.On:
		o := d.origin(e.Origin)
		o.Value = ""
		return &o
	case len(e.Fields) > 0:
		o := d.origin(e.Fields[0].Written)
		o.Value = ""
		return &o
	default:
		return nil
	}
}

// field shows a field. What hangs on the rule's identity or matches is shown as it is emitted.
func (d *describer) field(f *ladder.Field, decision *policy.Decision) Field {
	out := Field{Name: f.Name, Origin: d.origin(f.Written)}
	if f.Rung == ladder.BuiltIn && out.Value == "" {
		out.Value = emitted(f.Name, decision)
	}
	for _, b := range f.Beats {
		out.Beats = append(out.Beats, d.origin(b))
	}
	if f.Rung != ladder.BuiltIn && f.Default != "" && f.Default != f.Text {
		out.Beats = append(out.Beats, Origin{Value: f.Default, Rung: int(ladder.BuiltIn), Block: ladder.BuiltIn.String()})
	}
	return out
}

// emitted is the name or the paths that the compiler has worked out.
func emitted(field string, decision *policy.Decision) string {
	switch field {
	case "sessionName":
		return decision.Name
	case "cookie.path":
		var paths []string
		for _, p := range decision.Policies {
			if p.Cookie != nil && p.Cookie.Path != "" && !slices.Contains(paths, p.Cookie.Path) {
				paths = append(paths, p.Cookie.Path)
			}
		}
		return strings.Join(paths, ", ")
	default:
		return ""
	}
}

// effect shows what a policy does on a way; false if it has no say there.
func (d *describer) effect(object ladder.Object, decision *policy.Decision) (Effect, bool) {
	out := Effect{Way: wayOf(decision.Way, decision.Rule)}
	e := &decision.Effective
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Rung != ladder.BuiltIn && f.Source.Object == object {
			out.Holds = append(out.Holds, d.field(f, decision))
		}
		for _, b := range f.Beats {
			if b.Source.Object == object && (!b.Implied || f.Text != b.Text) {
				out.Beaten = append(out.Beaten, Beaten{Name: f.Name, Origin: d.origin(b), By: d.origin(f.Written)})
			}
		}
	}
	out.Notes = d.notes(object, decision)
	return out, len(out.Holds)+len(out.Beaten)+len(out.Notes) > 0
}

// notes says what of a policy does not hold on a way, or not as it is written, though nothing stronger writes it.
func (d *describer) notes(object ladder.Object, decision *policy.Decision) (notes []string) {
	for _, drop := range decision.Effective.Dropped {
		if drop.Source.Object == object {
			notes = append(notes, drop.Message())
		}
	}
	for _, c := range decision.Effective.Conflicts {
		if c.Loser.Object == object {
			notes = append(notes, fmt.Sprintf("conflicts with %s: %s", c.Winner, c.Message()))
		}
	}
	for _, r := range d.Decisions.Renames {
		if r.By.Source.Object == object && r.Route == decision.Route && r.Rule == decision.Rule {
			notes = append(notes, fmt.Sprintf("the name %s is emitted as %s (%s)", r.From, r.To, r.Law))
		}
	}
	return notes
}
