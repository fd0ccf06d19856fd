package resource

import (
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Fault is something in an admitted object that limpet does not support. What it is about is left out, and the rest of
// the object holds.
type Fault struct {
	// Path leads to the field.
	Path, Message string
}

// Place is where in the object the fault is.
func (f Fault) Place() report.Place { return report.PlaceOf(f.Path) }

// FaultsOf gives the faults within an item of a section.
func (o *Object[T]) FaultsOf(s report.Section, index int) []Fault {
	return slices.DeleteFunc(slices.Clone(o.Faults), func(f Fault) bool { return !f.Place().IsIn(s, index) })
}

// FaultsOutside gives the faults that are in no item of any of the sections.
func (o *Object[T]) FaultsOutside(sections ...report.Section) []Fault {
	return slices.DeleteFunc(slices.Clone(o.Faults), func(f Fault) bool { return f.Place().IsInItem(sections...) })
}
