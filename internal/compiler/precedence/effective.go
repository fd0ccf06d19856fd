package precedence

import (
	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// FieldValue is a value and where it is written.
type FieldValue struct {
	// Value is of the type that the field has in the plugin's configuration; nil for no value.
	Value any
	// Text is the value for people. Equal values have equal texts.
	Text  string
	Level Level
	// Origin and Path are the object and the field in it; empty for a built-in default.
	Origin object.Origin
	Path   string
	// Unset says that a block takes the field away: Value and Text are those of the built-in default then, if there is
	// one.
	Unset bool
	// Implied says that no field writes it: the block at Path turns sessions on by being there (S9).
	Implied bool
}

// Field is what came of one field.
type Field struct {
	// Name is that of the field in a SessionPersistencePolicy, such as cookie.sameSite.
	Name string
	// FieldValue is the effective value. Where no block writes one its level is BuiltIn, and it has no value if there is
	// none or if it depends on the rule's identity and matches, as the session's name and the cookie's path do.
	FieldValue
	// Default is the built-in default's text, whether it is effective or not; empty if there is no fixed one.
	Default string
	// Overrides is what weaker blocks write, strongest first.
	Overrides []FieldValue
}

// Effective is what the blocks on a path come to.
type Effective struct {
	// On says that there is session persistence. Without any block there is none, and no fields.
	On bool
	// TurnedOnBy is the block that turns it on (S9): Path leads to the block, or to disabled in it. Empty if it is off.
	TurnedOnBy FieldValue
	// Scope is what a policy says that the sessions of the route belong to; no value where none does (S22).
	Scope FieldValue
	// Fields is every field that applies to the type, in a fixed order; disabled is the first. Those that no block writes
	// are shared by all, so none may be changed.
	Fields []*Field
	// Ignored are the values without effect though no stronger block writes the field; none if the session is off.
	Ignored []IgnoredField
	// Conflicts are the objects that lose to others of their level.
	Conflicts []Conflict
}

// Field gives a field by its name, nil if there is none of the name or if it does not apply.
func (e *Effective) Field(name string) *Field {
	for _, f := range e.Fields {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// readValue returns a field's effective value, or the zero value; written is false if it is the default, or unset.
func readValue[T any](e *Effective, name string) (v T, written bool) {
	f := e.Field(name)
	if f == nil {
		return v, false
	}
	v, _ = f.Value.(T)
	return v, f.Level != BuiltIn && !f.Unset
}

// Type is what carries the token.
func (e *Effective) Type() policyconfig.Type {
	t, _ := readValue[policyconfig.Type](e, fieldType)
	return t
}

// SessionName is the name as it is written; false if no block writes one, so that one is to be generated (S25).
func (e *Effective) SessionName() (string, bool) { return readValue[string](e, fieldName) }

// Envelope reports whether the session is in what the application itself sets.
func (e *Effective) Envelope() bool {
	is, _ := readValue[bool](e, fieldEnvelope)
	return is
}

// CookiePath is the path as it is written, perhaps empty for none; false if no block writes one or the type is Header,
// so that S23 decides.
func (e *Effective) CookiePath() (string, bool) { return readValue[string](e, fieldPath) }

// Identity is what the session is with; false for its pod, where no block says so (S42).
func (e *Effective) Identity() (v1alpha1.Identity, bool) {
	if i, written := readValue[v1alpha1.Identity](e, fieldIdentity); written {
		return i, true
	}
	return v1alpha1.IdentityPod, false
}

// DrainTimeout is how long sessions stay on a host that terminates; false for as long as it serves (S41).
func (e *Effective) DrainTimeout() (policyconfig.Duration, bool) {
	return readValue[policyconfig.Duration](e, fieldDrain)
}

// KeepUnselected is how long sessions stay on a pod that its Service no longer selects; false for not at all (S42).
func (e *Effective) KeepUnselected() (policyconfig.Duration, bool) {
	limit, written := readValue[policyconfig.Duration](e, fieldKeep)
	return limit, written && limit > 0
}
