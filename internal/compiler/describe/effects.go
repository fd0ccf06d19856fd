package describe

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// describeEffect shows what a policy does on a way; false if it has no say there.
func (d *describer) describeEffect(ref object.Ref, decision *policy.Decision) (Effect, bool) {
	out := Effect{TrafficPath: newTrafficPath(decision.Path, decision.Rule)}
	e, withheld := &decision.Effective, d.findWithheld(decision) != ""
	for _, f := range e.Fields {
		if f.Level != precedence.BuiltIn && f.Origin.Ref == ref && !withheld {
			d.addOwnField(&out, f, decision)
		}
		for _, b := range f.Overrides {
			if b.Origin.Ref == ref && (!b.Implied || f.Text != b.Text) {
				out.Overridden = append(
					out.Overridden,
					OverriddenField{Name: f.Name, Origin: d.newOrigin(b), By: d.newOrigin(f.FieldValue)},
				)
			}
		}
	}
	if !withheld && d.sharesScope(ref, e) {
		out.Effective = append(out.Effective, Field{Name: scopeField, Origin: d.newOrigin(e.Scope)})
	}
	if out.Notes = d.listNotes(ref, decision); withheld && writesSome(ref, e) {
		out.Notes = append(out.Notes, d.findWithheld(decision))
	}
	return out, len(out.Effective)+len(out.Overridden)+len(out.Notes) > 0
}

// sharesScope tells whether the scope that a policy writes holds.
func (d *describer) sharesScope(ref object.Ref, e *precedence.Effective) bool {
	return e.On && e.Scope.Value != nil && e.Scope.Origin.Ref == ref && !isIgnored(e, scopeField)
}

// addOwnField shows a field that the policy writes and that nothing stronger does. Where sessions are off only what
// says so is effective.
func (d *describer) addOwnField(out *Effect, f *precedence.Field, decision *policy.Decision) {
	e, holds := &decision.Effective, findHolding(f.Name, decision)
	switch {
	case !e.On && f.Name != disabledField:
		out.Overridden = append(
			out.Overridden,
			OverriddenField{f.Name, d.newOrigin(f.FieldValue), d.newOrigin(e.Fields[0].FieldValue)},
		)
	case holds != "":
		out.Overridden = append(out.Overridden, OverriddenField{f.Name, d.newOrigin(f.FieldValue), newTargetOrigin(holds)})
	default:
		out.Effective = append(out.Effective, d.describeField(f, decision))
	}
}

// writesSome tells whether a policy writes some field that would be effective.
func writesSome(ref object.Ref, e *precedence.Effective) bool {
	return slices.ContainsFunc(
		e.Fields,
		func(f *precedence.Field) bool { return f.Level != precedence.BuiltIn && f.Origin.Ref == ref },
	)
}
