package resource

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// nullNames are the fields of session settings that null takes away under another name, and nullMappings those whose
// members it may take away. What turns sessions on and what carries them is no inherited field.
var (
	nullNames = map[string]string{
		"absoluteTimeoutSeconds": "absoluteTimeout",
		"idleTimeoutSeconds":     "idleTimeout",
		"header":                 "sessionName",
	}
	nullMappings = []string{"cookie", "cache", "revocation"}
	nullKept     = []string{"disabled", "type", "header.name"}
	mayBeNull    = sync.OnceValue(listMayBeNull)
)

// listMayBeNull lists the fields that null takes away.
func listMayBeNull() map[string]bool {
	all := map[string]bool{}
	for _, name := range slices.Concat(listLeaves(reflect.TypeFor[v1alpha1.SessionSettings](), ""), nullMappings) {
		all[strings.TrimSuffix(name, "[]")] = true
	}
	for name := range nullNames {
		all[name] = true
	}
	for _, name := range append(nullKept, "unset") {
		delete(all, name)
	}
	return all
}

// readNulls reads null as RFC 7386 does: it takes an inherited field away. An API server drops such fields before
// anyone sees them, so it is the same as unset in files only, which is reported.
func readNulls(a *admitter, d *read.Document) {
	spec, _ := d.Fields["spec"].(map[string]any)
	blocks := map[string]any{"spec": spec, "spec.default": spec["default"], "spec.override": spec["override"]}
	for _, path := range slices.Sorted(maps.Keys(blocks)) {
		block, _ := blocks[path].(map[string]any)
		for _, name := range unsetNulls(block) {
			a.rep.AdviseAt(
				report.NullField,
				d,
				path+"."+name,
				"null takes the field away in files only, for API servers drop it: write unset",
			)
		}
	}
}

// unsetNulls moves the fields of a block that are null into its unset, and gives their names.
func unsetNulls(block map[string]any) (names []string) {
	if block["disabled"] == true {
		return nil // which excludes every other field
	}
	unset, isList := block["unset"].([]any)
	if block["unset"] != nil && !isList {
		return nil
	}
	for _, name := range findNulls(block) {
		path := name
		if other := nullNames[name]; other != "" {
			path = other
		}
		if block[path] == nil && !slices.Contains(unset, any(path)) {
			unset, names = append(slices.Clip(unset), path), append(names, name)
		}
	}
	if len(names) > 0 {
		block["unset"] = unset
	}
	return names
}

// findNulls lists what is null in a block: fields of its own, and members of its mappings.
func findNulls(block map[string]any) (names []string) {
	for name, value := range block {
		members, _ := value.(map[string]any)
		switch {
		case value == nil && mayBeNull()[name]:
			names = append(names, name)
		case slices.Contains(nullMappings, name):
			for member, v := range members {
				if v == nil && mayBeNull()[name+"."+member] {
					names = append(names, name+"."+member)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
