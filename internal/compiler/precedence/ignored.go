package precedence

import (
	"fmt"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// IgnoredField is a written value that is not effective as it is written, though no stronger block writes the field.
type IgnoredField struct {
	// Field is the field's name.
	Field string
	FieldValue
	// Rule is why: S11 or S12 for what another value has done, S7 for a block that another level's has displaced as a
	// whole, S13 for one that another policy on its target has, S22 for a scope that a rule of the route does not share,
	// empty for a value that can't be read.
	Rule string
	// By is the value that did it, ByField its field. It may be weaker in the case of a timeout that is cut.
	By      FieldValue
	ByField string
	// Reason says it in words.
	Reason string
}

// Message says it on one line that begins with the path, for the status of the value's own source.
func (d IgnoredField) Message() string { return d.Path + ": " + d.Reason }

// newDisplaced is a whole block that does not hold because another one has a say (S7).
func newDisplaced(e, by *blockEntry) IgnoredField {
	why := "AtomicDefaults hold whole or not at all, and below them there is"
	if by.Atomic && by.Level.IsOverride() {
		why = "does not hold: in its place there is, by AtomicOverrides,"
	}
	rule := "S7"
	if e.Level.hierarchy() == by.Level.hierarchy() && e.Origin.Kind == by.Origin.Kind {
		rule, why = "S13", "does not hold: it stands or falls as a whole, and on its target there is, before it,"
	}
	return IgnoredField{
		FieldValue: FieldValue{Level: e.Level, Origin: e.Origin, Path: e.Path}, Rule: rule,
		By:     FieldValue{Level: by.Level, Origin: by.Origin, Path: by.Path},
		Reason: fmt.Sprintf("%s %s (%s)", why, by.Origin, by.Path),
	}
}

// newOffType is a field of the type that a stronger block has ruled out.
func newOffType(name string, w, kind FieldValue) IgnoredField {
	return IgnoredField{
		Field: name, FieldValue: w, Rule: "S11", By: kind, ByField: fieldType,
		Reason: fmt.Sprintf("does not apply: the type is %s by %s (%s)", kind.Text, kind.Origin, kind.Path),
	}
}

// newOffEnvelope is an attribute of a cookie that the application sets itself.
func newOffEnvelope(name string, w, by FieldValue) IgnoredField {
	return IgnoredField{
		Field: name, FieldValue: w, Rule: "S11", By: by, ByField: fieldEnvelope,
		Reason: fmt.Sprintf(
			"does not apply: the application chooses the attributes, for envelope is true by %s (%s)",
			by.Origin,
			by.Path,
		),
	}
}

// newOffTypeName is a name without a type that the type can't have.
func newOffTypeName(w, kind FieldValue, err error) IgnoredField {
	d := newOffType(fieldName, w, kind)
	d.Reason += ", and the name " + err.Error()
	return d
}

// newCutTimeout brings an idle timeout down to the absolute one, for a session ends at the earlier of the two anyway
// (S12).
func newCutTimeout(idle, absolute FieldValue) IgnoredField {
	return IgnoredField{
		Field: fieldIdle, FieldValue: idle, Rule: "S12", By: absolute, ByField: fieldAbsolute,
		Reason: fmt.Sprintf(
			"cut from %s to %s, the absolute timeout by %s (%s)",
			idle.Text,
			absolute.Text,
			absolute.Origin,
			absolute.Path,
		),
	}
}

// newUnreadable is a value that the checks of its block would have refused.
func newUnreadable(name string, w FieldValue, err error) IgnoredField {
	return IgnoredField{Field: name, FieldValue: w, Reason: fmt.Sprintf("left out: Invalid value: %q: %v", w.Text, err)}
}

// checkHeaderName says why a name that no type is written for can't be a header's, or nil.
func checkHeaderName(w FieldValue) error {
	return policyconfig.CheckSessionName(policyconfig.TypeHeader, w.Value.(string))
}
