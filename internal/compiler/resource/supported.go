package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// SupportedFields gives every field that may be set, by kind and path; [] stands for any index. A field that is not
// here, nor below one that is, is refused as "not supported". Tests hold the list to the Go types, and show for each
// field that is not ignored that it has an effect.
var SupportedFields = sync.OnceValue(func() map[string]support.Fields {
	all := map[string]support.Fields{}
	for _, k := range registry {
		if k.fields != nil {
			all[k.Kind] = k.fields()
		}
	}
	return all
})

// supportedEverywhere holds for every kind.
var supportedEverywhere = support.Fields{
	"apiVersion": {},
	"kind":       {},
	"metadata":   support.Ignored("name, namespace, labels and creation time are read; the rest is bookkeeping"),
}

// findUnsupported finds what a document of a kind sets and limpet does not carry.
func findUnsupported(kind string, fields map[string]any) []Fault {
	w := fieldWalker{table: SupportedFields()[kind], leading: leadingPaths()[kind]}
	w.visitMapping("", "", fields)
	slices.SortFunc(w.found, func(a, b Fault) int { return cmp.Compare(a.Path, b.Path) })
	return w.found
}

type fieldWalker struct {
	table   support.Fields
	leading map[string]bool
	found   []Fault
}

// leadingPaths has, by kind, how the paths of Carried begin that lead into a field: up to a dot, or to the brackets of
// a list.
var leadingPaths = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for kind, table := range SupportedFields() {
		all[kind] = map[string]bool{}
		for path := range table {
			for i, c := range path {
				if c == '.' || c == ']' {
					all[kind][path[:i+1]] = true
				}
			}
		}
	}
	return all
})

func (w *fieldWalker) visitMapping(path, pattern string, fields map[string]any) {
	for name, value := range fields {
		w.visitValue(joinPath(path, name), joinPath(pattern, name), value)
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// visitValue looks at one field; path has its indices, pattern [] in place of each.
func (w *fieldWalker) visitValue(path, pattern string, value any) {
	if list, is := value.([]any); value == nil || is && len(list) == 0 {
		return // the same as an absent field
	}
	if t, known := w.lookUp(pattern); known {
		if t.Only != nil && !slices.Contains(t.Only, value) {
			w.found = append(
				w.found,
				Fault{Path: path, Message: fmt.Sprintf("not supported: %#v", value) + suggest.Value(value, t.Only)},
			)
		}
		return
	}
	switch v := value.(type) {
	case map[string]any:
		if w.leading[pattern+"."] {
			w.visitMapping(path, pattern, v)
			return
		}
	case []any:
		if w.leading[pattern+"[]"] {
			for i, item := range v {
				w.visitValue(path+"["+strconv.Itoa(i)+"]", pattern+"[]", item)
			}
			return
		}
	}
	w.found = append(w.found, Fault{Path: path, Message: "not supported"})
}

func (w *fieldWalker) lookUp(pattern string) (support.Field, bool) {
	if t, ok := supportedEverywhere[pattern]; ok {
		return t, true
	}
	t, ok := w.table[pattern]
	return t, ok
}

// reportUnsupported reports what is not supported, except where the field has an error already.
func reportUnsupported(d *read.Document, left []Fault, errors []report.Problem, rep *report.Report) {
	for _, f := range left {
		if !slices.ContainsFunc(errors, func(p report.Problem) bool { return p.Path == report.ShownPath(f.Path) }) {
			rep.UnsupportedAt(report.UnsupportedField, d, f.Path, f.Message)
		}
	}
}
