package ladder

import (
	"fmt"

	"github.com/limpet-proxy/limpet/policy-config"
)

// Drop is a written value that does not hold as it is written, though nothing stronger writes the field.
type Drop struct {
	// Field is the field's name.
	Field string
	Written
	// Rule is why: S11 or S12 for what another value has done, empty for a value that can't be read.
	Rule string
	// By is the value that did it, ByField its field. It may be weaker in the case of a timeout that is cut.
	By      Written
	ByField string
	// Reason says it in words.
	Reason string
}

// Message says it on one line that begins with the path, for the status of the value's own source.
func (d Drop) Message() string { return d.Path + ": " + d.Reason }

// offType is a field of the type that another block's word has ruled out.
func offType(name string, w, kind Written) Drop {
	return Drop{
		Field: name, Written: w, Rule: "S11", By: kind, ByField: fieldType,
		Reason: fmt.Sprintf("does not apply: the type is %s by %s (%s)", kind.Text, kind.Source, kind.Path),
	}
}

// offName is a name without a type that the type can't have.
func offName(w, kind Written, err error) Drop {
	d := offType(fieldName, w, kind)
	d.Reason += ", and the name " + err.Error()
	return d
}

// cut brings an idle timeout down to the absolute one, for a session ends at the earlier of the two anyway (S12).
func cut(idle, absolute Written) Drop {
	return Drop{
		Field: fieldIdle, Written: idle, Rule: "S12", By: absolute, ByField: fieldAbsolute,
		Reason: fmt.Sprintf("cut from %s to %s, the absolute timeout by %s (%s)", idle.Text, absolute.Text, absolute.Source, absolute.Path),
	}
}

// unreadable is a value that the checks of its block would have refused.
func unreadable(name string, w Written, err error) Drop {
	return Drop{Field: name, Written: w, Reason: fmt.Sprintf("left out: Invalid value: %q: %v", w.Text, err)}
}

// headerName says why a name that no type is written for can't be a header's, or nil.
func headerName(w Written) error {
	return policyconfig.CheckSessionName(policyconfig.TypeHeader, w.Value.(string))
}
