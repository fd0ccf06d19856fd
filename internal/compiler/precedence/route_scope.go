package precedence

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// scopePath is where a policy says what its route's sessions belong to.
const scopePath = "spec.scope"

// findScope gives what a policy for the route says that its sessions belong to, the oldest where several do, and the
// conflicts of those that say otherwise. It is a word about the route, and so the same in whichever of the policy's
// blocks holds.
func findScope(entries []*blockEntry) (scope FieldValue, conflicts []Conflict) {
	var words []*blockEntry
	for _, e := range entries {
		isOwn := func(w *blockEntry) bool { return w.Origin.Ref == e.Origin.Ref }
		if e.Scope != "" && !slices.ContainsFunc(words, isOwn) {
			words = append(words, e)
		}
	}
	if len(words) == 0 {
		return FieldValue{}, nil
	}
	slices.SortStableFunc(words, func(a, b *blockEntry) int { return object.ByAge(a.Origin, b.Origin) })
	scope = words[0].newScope()
	for _, w := range words[1:] {
		if w.Scope != words[0].Scope {
			conflicts = append(conflicts, Conflict{
				Loser: w.Origin, Winner: words[0].Origin, Level: w.Level, Path: scopePath,
				Fields: []FieldConflict{{"scope", w.newScope(), scope}},
			})
		}
	}
	return scope, conflicts
}

func (e *blockEntry) newScope() FieldValue {
	return FieldValue{Value: e.Scope, Text: string(e.Scope), Level: e.Level, Origin: e.Origin, Path: scopePath}
}

// IsOfRoute reports whether a policy has the rules of the route share their sessions.
func (e *Effective) IsOfRoute() bool { return e.Scope.Value == v1alpha1.ScopeRoute }

// FindDifference gives the field in which two sessions differ that can't be one; empty if there is none.
func (e *Effective) FindDifference(o *Effective) string {
	for f := range fieldTable {
		name := fieldTable[f].name
		if isOfSession(name) && e.textOf(name) != o.textOf(name) {
			return name
		}
	}
	return ""
}

// isOfSession reports whether a field is about sessions themselves, and not about the requests and answers of one rule.
func isOfSession(name string) bool {
	switch name {
	case fieldType, fieldName, fieldEnvelope, fieldAbsolute, fieldIdle, fieldIdentity:
		return true
	}
	return strings.HasPrefix(name, "cookie.") || strings.HasPrefix(name, "revocation.")
}

// textOf is a field's value as people write it; empty where there is none or the field does not apply.
func (e *Effective) textOf(name string) string {
	if f := e.Field(name); f != nil {
		return f.Text
	}
	return ""
}

// NewApart is what a policy says of a route's sessions and what does not hold for one of its rules.
func (e *Effective) NewApart(reason string) IgnoredField {
	return IgnoredField{Field: "scope", FieldValue: e.Scope, Rule: "S22", Reason: reason}
}
