package precedence

import (
	"fmt"

	"github.com/limpet-proxy/limpet/policy-config"
)

// IgnoredField is a written value that does not hold as it is written, though nothing stronger writes the field.
type IgnoredField struct {
	// Field is the field's name.
	Field string
	FieldValue
	// Rule is why: S11 or S12 for what another value has done, empty for a value that can't be read.
	Rule string
	// By is the value that did it, ByField its field. It may be weaker in the case of a timeout that is cut.
	By      FieldValue
	ByField string
	// Reason says it in words.
	Reason string
}

// Message says it on one line that begins with the path, for the status of the value's own source.
func (d IgnoredField) Message() string { return d.Path + ": " + d.Reason }

// newOffType is a field of the type that another block's word has ruled out.
func newOffType(name string, w, kind FieldValue) IgnoredField {
	return IgnoredField{
		Field: name, FieldValue: w, Rule: "S11", By: kind, ByField: fieldType,
		Reason: fmt.Sprintf("does not apply: the type is %s by %s (%s)", kind.Text, kind.Origin, kind.Path),
	}
}

// newOffTypeName is a name without a type that the type can't have.
func newOffTypeName(w, kind FieldValue, err error) IgnoredField {
	d := newOffType(fieldName, w, kind)
	d.Reason += ", and the name " + err.Error()
	return d
}

// newCutTimeout brings an idle timeout down to the absolute one, for a session ends at the earlier of the two anyway (S12).
func newCutTimeout(idle, absolute FieldValue) IgnoredField {
	return IgnoredField{
		Field: fieldIdle, FieldValue: idle, Rule: "S12", By: absolute, ByField: fieldAbsolute,
		Reason: fmt.Sprintf("cut from %s to %s, the absolute timeout by %s (%s)", idle.Text, absolute.Text, absolute.Origin, absolute.Path),
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
