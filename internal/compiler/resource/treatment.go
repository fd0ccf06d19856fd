package resource

import (
	"maps"
	"slices"
)

// Treatment says what the compiler does with a field that a document sets.
type Treatment struct {
	// Ignored is the reason why the field may have no effect; empty for a field that has one.
	Ignored string
	// Only lists the values that are carried; any other is refused. Nil: every value that is admitted.
	Only []any
}

var carried = Treatment{}

func only(values ...any) Treatment         { return Treatment{Only: values} }
func ignored(why string) Treatment         { return Treatment{Ignored: why} }
func (t Treatment) carries(value any) bool { return t.Only == nil || slices.Contains(t.Only, value) }

// fields are treatments by path.
type fields = map[string]Treatment

// all treats fields as carried.
func all(names ...string) fields {
	rows := fields{}
	for _, name := range names {
		rows[name] = carried
	}
	return rows
}

// under puts fields below another.
func under(path string, inner fields) fields {
	rows := fields{}
	for name, t := range inner {
		rows[path+"."+name] = t
	}
	return rows
}

// rows puts fields together.
func rows(parts ...fields) fields {
	whole := fields{}
	for _, p := range parts {
		maps.Copy(whole, p)
	}
	return whole
}
