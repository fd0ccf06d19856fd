package describe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Input is what was decided, and the input's objects.
type Input struct {
	Decisions     *policy.Decisions
	Traffic       []*lower.BackendTraffic
	LoadBalancing []loadbalancing.Attachment
	Subjects      map[object.Ref]report.Subject
	// SharedPath is the path that a policy's cookie has on the target where that knows one for all matches of a rule;
	// empty if the policy's own holds. Nil is never.
	SharedPath func(*policyconfig.Policy) string
	// Withheld says why the target goes without the session that was decided on a path, empty where it does not; nil is
	// never.
	Withheld func(*policy.Decision) string
	// Budgets are those that the object takes from.
	Budgets []gateway.Taken
}

type describer struct{ Input }

// Describe says what affects an object, or a listener or rule of it by the section's name; of a policy, what it
// affects. The object is one of the input's.
func Describe(ref object.Ref, section string, in Input) *Description {
	d := &describer{in}
	out := &Description{Object: ref.String(), Section: section, Budgets: d.Budgets}
	out.File, out.Line = d.locate(ref, "")
	target := object.TargetRef{Ref: ref, Section: section}
	for _, decision := range d.Decisions.Paths {
		if slices.Contains(decision.Path.Targets(), target) {
			out.Sessions = append(out.Sessions, d.describeSession(decision))
		}
		if effect, any := d.describeEffect(ref, decision); any && isPolicy(ref) {
			out.Effects = append(out.Effects, effect)
		}
	}
	out.Sessions = mergeItems(out.Sessions, selectVia)
	out.Targets = d.describeTargets(ref)
	d.addRequests(out, target)
	out.Effects = mergeItems(mergeItems(out.Effects, selectVia), selectBackends)
	return out
}

// isPolicy reports whether an object attaches to others.
func isPolicy(ref object.Ref) bool {
	return slices.Contains([]string{object.KindSessionPolicy, object.KindTrafficPolicy, object.KindLoadBalancer}, ref.Kind)
}

// describeTargets is what became of a policy's targets.
func (d *describer) describeTargets(ref object.Ref) (all []Target) {
	for _, a := range d.Decisions.Attachments {
		if a.Policy.Ref == ref {
			all = append(all, Target{Target: a.Target.String(), Path: a.Path, Reason: a.Reason, Message: a.Message})
		}
	}
	for _, a := range d.LoadBalancing {
		if a.Policy.Object == ref {
			all = append(all, Target{Target: a.Target.String(), Path: a.Path, Reason: a.Reason, Message: a.Message})
		}
	}
	return all
}

// selectVia and backends are the parts of a way that things may differ in and yet be put together.
func selectVia(w *TrafficPath) *[]string      { return &w.Via }
func selectBackends(w *TrafficPath) *[]string { return &w.Backends }

// mergeItems puts items that differ in nothing but a part of their ways into one, with all of it.
func mergeItems[T any, P interface {
	*T
	trafficPath() *TrafficPath
}](items []T, part func(*TrafficPath) *[]string,
) []T {
	var out []T
	first := map[string]int{}
	for _, item := range items {
		list := part(P(&item).trafficPath())
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
		all := part(P(&out[at]).trafficPath())
		*all = append(slices.Clip(*all), own...)
	}
	return out
}

func newTrafficPath(path precedence.TrafficPath, rule int) TrafficPath {
	w := TrafficPath{
		Route: path.Route.String(), Rule: rule, RuleName: path.Rule,
		Via: []string{path.Gateway.String() + ", listener " + path.Listener},
	}
	for _, b := range path.Backends {
		w.Backends = append(w.Backends, b.Ref.String())
	}
	return w
}

// describeSession shows what holds on a way.
func (d *describer) describeSession(decision *policy.Decision) Session {
	e := &decision.Effective
	s := Session{
		TrafficPath: newTrafficPath(decision.Path, decision.Rule),
		On:          e.On,
		Generation:  decision.Release.String(),
		Scope:       decision.Scope,
		Name:        decision.Name,
	}
	s.By = d.findSwitch(e)
	for _, r := range decision.Refusals {
		s.Refused = append(s.Refused, r.Path+": "+r.Message)
	}
	if !e.On {
		return s
	}
	if why := d.findWithheld(decision); why != "" {
		s.On, s.By, s.Notes = false, nil, []string{why}
		return s
	}
	for _, l := range decision.Limits {
		s.Notes = append(s.Notes, l.Field+": "+l.Why)
	}
	for _, field := range e.Fields {
		if f := d.describeField(field, decision); f.Name != disabledField && (f.Value != "" || len(f.Overrides) > 0) {
			s.Fields = append(s.Fields, f)
		}
	}
	if e.Scope.Value != nil {
		s.Fields = append(s.Fields, Field{Name: scopeField, Origin: d.newOrigin(e.Scope)})
	}
	for _, drop := range e.Ignored {
		s.Notes = append(s.Notes, drop.Origin.String()+": "+drop.Message())
	}
	for _, c := range e.Conflicts {
		s.Notes = append(s.Notes, c.Loser.String()+": "+c.Message())
	}
	return s
}

// findSwitch is what turns sessions on, or off.
func (d *describer) findSwitch(e *precedence.Effective) *Origin {
	switch {
	case e.On:
		o := d.newOrigin(e.TurnedOnBy)
		o.Value = ""
		return &o
	case len(e.Fields) > 0:
		o := d.newOrigin(e.Fields[0].FieldValue)
		o.Value = ""
		return &o
	default:
		return nil
	}
}

// describeField shows a field. What depends on the rule's identity or matches is shown as it is emitted.
func (d *describer) describeField(f *precedence.Field, decision *policy.Decision) Field {
	out := Field{Name: f.Name, Origin: d.newOrigin(f.FieldValue)}
	if emitted := d.findEmitted(f.Name, decision); emitted != "" &&
		(f.Level == precedence.BuiltIn && out.Value == "" || f.Unset) {
		out.Value = emitted
	}
	for _, b := range f.Overrides {
		out.Overrides = append(out.Overrides, d.newOrigin(b))
	}
	if f.Level != precedence.BuiltIn && f.Default != "" && f.Default != f.Text {
		out.Overrides = append(
			out.Overrides,
			Origin{Value: f.Default, Precedence: int(precedence.BuiltIn), Block: precedence.BuiltIn.String()},
		)
	}
	if holds := findHolding(f.Name, decision); holds != "" {
		out.Origin, out.Overrides = newTargetOrigin(holds), append([]Origin{out.Origin}, out.Overrides...)
	}
	return out
}

// findHolding is what holds in the place of a field that does not hold as it is written; empty where it does.
func findHolding(field string, decision *policy.Decision) string {
	for _, l := range decision.Limits {
		if l.Field == field {
			return l.Holds
		}
	}
	return ""
}

// newTargetOrigin is where a value comes from that is the target's, whatever is written.
func newTargetOrigin(value string) Origin { return Origin{Value: value, Block: "all that holds here"} }

// findWithheld says why there is no session where one is asked for; empty if there is.
func (d *describer) findWithheld(decision *policy.Decision) string {
	if decision.Withheld == "" && d.Withheld != nil {
		return d.Withheld(decision)
	}
	return decision.Withheld
}

// findEmitted is the name or the paths that the compiler has worked out.
func (d *describer) findEmitted(field string, decision *policy.Decision) string {
	switch field {
	case "sessionName":
		return decision.Name
	case "cookie.path":
		var paths []string
		for _, p := range decision.Policies {
			if path := d.findPath(&p); path != "" && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		return strings.Join(paths, ", ")
	default:
		return ""
	}
}

// findPath is the path of a policy's cookie; empty for none.
func (d *describer) findPath(p *policyconfig.Policy) string {
	if p.Cookie == nil {
		return ""
	}
	if d.SharedPath != nil {
		if shared := d.SharedPath(p); shared != "" {
			return shared
		}
	}
	return p.Cookie.Path
}

// disabledField is the field that turns sessions off; no other has an effect then.
const disabledField = "disabled"

// scopeField is a field of policies for routes that does not merge with others, and so is none of a session's.
const scopeField = "scope"

// isIgnored tells whether a field does not hold though nothing stronger writes it.
func isIgnored(e *precedence.Effective, field string) bool {
	return slices.ContainsFunc(e.Ignored, func(drop precedence.IgnoredField) bool { return drop.Field == field })
}

// listNotes says what of a policy does not hold on a way, or not as it is written, though nothing stronger writes it.
func (d *describer) listNotes(ref object.Ref, decision *policy.Decision) (notes []string) {
	for _, l := range decision.Limits {
		if decision.Effective.Field(l.Field).Origin.Ref == ref {
			notes = append(notes, l.Field+": "+l.Why)
		}
	}
	for _, drop := range decision.Effective.Ignored {
		if drop.Origin.Ref == ref {
			notes = append(notes, drop.Message())
		}
	}
	for _, c := range decision.Effective.Conflicts {
		if c.Loser.Ref == ref {
			notes = append(notes, c.Message())
		}
	}
	for _, r := range d.Decisions.Renames {
		if r.By.Origin.Ref == ref && r.Route == decision.Route && r.Rule == decision.Rule {
			notes = append(notes, fmt.Sprintf("the name %s is emitted as %s (%s)", r.From, r.To, r.SemanticsRule))
		}
	}
	return notes
}
