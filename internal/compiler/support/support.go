// Package support says what the compiler does with the fields of documents.
package support

import (
	"maps"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Field says what the compiler does with a field that a document sets.
type Field struct {
	// Ignored is the reason why the field may have no effect; empty for a field that has one.
	Ignored string
	// Only lists the values that are supported; any other is refused. Nil: every value that is admitted.
	Only []any
}

// Fields are treatments by path; [] stands for any index.
type Fields = map[string]Field

// Only supports some values.
func Only(values ...any) Field { return Field{Only: values} }

// Ignored has no effect, for a reason.
func Ignored(why string) Field { return Field{Ignored: why} }

// All supports fields.
func All(names ...string) Fields {
	rows := Fields{}
	for _, name := range names {
		rows[name] = Field{}
	}
	return rows
}

// Under puts fields below another.
func Under(path string, inner Fields) Fields {
	rows := Fields{}
	for name, t := range inner {
		rows[path+"."+name] = t
	}
	return rows
}

// Join puts fields together.
func Join(parts ...Fields) Fields {
	whole := Fields{}
	for _, p := range parts {
		maps.Copy(whole, p)
	}
	return whole
}

// lacking is the Origin of errors about what limpet lacks.
const lacking = "limpet.dev/lacking"

// Lacking marks an error as one about what an API server would admit, and limpet does not support.
func Lacking(e *field.Error) *field.Error { return e.WithOrigin(lacking) }

// IsLacking tells whether an error is one.
func IsLacking(e *field.Error) bool { return e.Origin == lacking }
