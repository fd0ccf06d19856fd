package resource

import (
	"maps"
)

// Support says what the compiler does with a field that a document sets.
type Support struct {
	// Ignored is the reason why the field may have no effect; empty for a field that has one.
	Ignored string
	// Only lists the values that are supported; any other is refused. Nil: every value that is admitted.
	Only []any
}

var supported = Support{}

func onlyValues(values ...any) Support { return Support{Only: values} }
func ignoredFor(why string) Support    { return Support{Ignored: why} }

// fieldSupport are treatments by path.
type fieldSupport = map[string]Support

// supportAll treats fields as supported.
func supportAll(names ...string) fieldSupport {
	rows := fieldSupport{}
	for _, name := range names {
		rows[name] = supported
	}
	return rows
}

// nestUnder puts fields below another.
func nestUnder(path string, inner fieldSupport) fieldSupport {
	rows := fieldSupport{}
	for name, t := range inner {
		rows[path+"."+name] = t
	}
	return rows
}

// joinRows puts fields together.
func joinRows(parts ...fieldSupport) fieldSupport {
	whole := fieldSupport{}
	for _, p := range parts {
		maps.Copy(whole, p)
	}
	return whole
}
