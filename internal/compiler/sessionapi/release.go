package sessionapi

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// APIRelease is a release of the session persistence API, by the meaning that it has (S17).
type APIRelease uint8

// The releases. Unstated is what a SessionPersistencePolicy shows, or an inline block without a telling field.
// Release16 is Gateway API up to 1.6, and Release17 from 1.7 on.
const (
	Unstated APIRelease = iota
	Release16
	Release17
)

// String is the release as --gateway-api has it, empty for Unstated.
func (g APIRelease) String() string {
	return [...]string{Unstated: "", Release16: "1.6", Release17: "1.7"}[g]
}

// ReleaseHints are what shows a rule's API release (S18).
type ReleaseHints struct {
	// Inline is the rule's own sessionPersistence, nil for none, and Path where it stands.
	Inline *InlineSession
	Path   *field.Path
	// XBackend says that one of the rule's backends is an XBackend with sessionPersistence.
	XBackend bool
	// Option is --gateway-api, Unstated if it is not given.
	Option APIRelease
}

// Release is the release by which the rule is read.
func (s ReleaseHints) Release() APIRelease {
	switch {
	case s.Inline != nil && s.Inline.Release != Unstated:
		return s.Inline.Release
	case s.XBackend:
		return Release17
	case s.Option != Unstated:
		return s.Option
	default:
		return Release16
	}
}

// Errors refuses fields up to 1.6 together with an XBackend's own session: the two disagree about what a weight means
// (S19).
func (s ReleaseHints) Errors() field.ErrorList {
	if s.Inline == nil || s.Inline.Release != Release16 || !s.XBackend {
		return nil
	}
	return s.hintErrors(
		"is a field of Gateway API up to 1.6, and a backend of the rule is an XBackend with sessionPersistence, " +
			"as in 1.7: the two disagree about what a weight means",
	)
}

// Warnings are for fields of 1.7: they are deprecated together with an XBackend's (S19), and a cluster that has 1.6, as
// the option says, would drop them without a word (S20).
func (s ReleaseHints) Warnings() field.ErrorList {
	var warnings field.ErrorList
	if s.Inline == nil || s.Inline.Release != Release17 {
		return nil
	}
	if s.XBackend {
		warnings = append(
			warnings,
			s.hintErrors(
				"is deprecated where a backend of the rule is an XBackend with sessionPersistence, and stronger than that",
			)...)
	}
	if s.Option == Release16 {
		warnings = append(
			warnings,
			s.hintErrors(
				"is a field of Gateway API 1.7: a cluster with 1.6 drops it, and the session's name with it, without a word",
			)...)
	}
	return warnings
}

func (s ReleaseHints) hintErrors(why string) field.ErrorList {
	var all field.ErrorList
	for _, name := range s.Inline.ReleaseFields {
		all = append(all, field.Forbidden(s.Path.Child(name), why))
	}
	return all
}
