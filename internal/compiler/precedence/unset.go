package precedence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// unsetText stands for a field that is taken away and has no built-in default. No field can hold it.
const unsetText = "(unset)"

// unsetNames is what a policy may take away (S7): every field but what turns sessions on and what carries them, and
// each mapping, which stands for its members.
var unsetNames = listUnsetNames()

func listUnsetNames() (names []string) {
	for i := range fieldTable {
		name := fieldTable[i].name
		if outer, _, nested := strings.Cut(name, "."); nested && !slices.Contains(names, outer) {
			names = append(names, outer)
		}
		if fieldTable[i].canBeUnset() {
			names = append(names, name)
		}
	}
	return names
}

func (f *fieldRow) canBeUnset() bool { return f.name != fieldDisabled && f.name != fieldType }

// readUnset gives the field of a block that does not write it: nil, or that the block takes it away.
func (f *fieldRow) readUnset(b *SettingsBlock) *FieldValue {
	if !f.canBeUnset() {
		return nil
	}
	for i, path := range b.Settings.Unset {
		if f.isBelow(string(path)) {
			return &FieldValue{
				Unset: true, Text: unsetText, Level: b.Level, Origin: b.Origin, Path: b.Path + ".unset[" + strconv.Itoa(i) + "]",
			}
		}
	}
	return nil
}

// isBelow reports whether a path leads to the field, or to the mapping that it is a member of.
func (f *fieldRow) isBelow(path string) bool {
	return f.name == path || strings.HasPrefix(f.name, path) && f.name[len(path)] == '.'
}

// checkUnset finds what a block can't take away: fields that there are none of, and those that it writes.
func checkUnset(b *SettingsBlock) (errs policyconfig.ErrorList) {
	seen := map[v1alpha1.FieldPath]bool{}
	for i, path := range b.Settings.Unset {
		at := fmt.Sprintf("%s.unset[%d]", b.Path, i)
		switch {
		case !slices.Contains(unsetNames, string(path)):
			errs = append(errs, policyconfig.Error{
				Path: at, Message: fmt.Sprintf("Unsupported value: %q: supported values: %s", path, strings.Join(unsetNames, ", ")),
			})
		case seen[path]:
			errs = append(errs, policyconfig.Error{Path: at, Message: fmt.Sprintf("Duplicate value: %q", path)})
		case b.writesBelow(string(path)):
			errs = append(
				errs,
				policyconfig.Error{Path: at, Message: "Forbidden: may not name a field that is written next to it"},
			)
		}
		seen[path] = true
	}
	return errs
}

// writesBelow reports whether a block writes the field of a path, or one of the mapping's.
func (b *SettingsBlock) writesBelow(path string) bool {
	return slices.ContainsFunc(fieldTable, func(f fieldRow) bool {
		value, _, _ := f.read(b.Settings, b.Release)
		return value != nil && f.isBelow(path)
	})
}
