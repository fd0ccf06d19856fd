package resource

import (
	"slices"
	"strconv"
	"strings"
)

// Fault is something in an admitted object that limpet does not support. What it is about is left out, and the rest of
// the object holds.
type Fault struct {
	// Path leads to the field.
	Path, Message string
}

// ItemOf gives the index of the item of a list, such as spec.rules, that the fault is in; false if it is in none.
func (f Fault) ItemOf(list string) (int, bool) {
	rest, found := strings.CutPrefix(f.Path, list+"[")
	digits, _, closed := strings.Cut(rest, "]")
	index, err := strconv.Atoi(digits)
	return index, found && closed && err == nil
}

// FaultsOf gives the faults within an item of a list.
func (o *Object[T]) FaultsOf(list string, index int) []Fault {
	return slices.DeleteFunc(slices.Clone(o.Faults), func(f Fault) bool {
		i, in := f.ItemOf(list)
		return !in || i != index
	})
}

// FaultsOutside gives the faults that are in no item of any of the lists.
func (o *Object[T]) FaultsOutside(named ...string) []Fault {
	return slices.DeleteFunc(slices.Clone(o.Faults), func(f Fault) bool {
		return slices.ContainsFunc(named, func(list string) bool {
			_, in := f.ItemOf(list)
			return in
		})
	})
}
