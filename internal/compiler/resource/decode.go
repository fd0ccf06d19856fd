package resource

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	kjson "sigs.k8s.io/json"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// decode fills a Go type from the document's fields and reports those that the type lacks.
func (a *admitter) decode(d *read.Document, fields map[string]any, into any) bool {
	text, err := json.Marshal(fields)
	if err != nil {
		a.rep.ErrorAt(report.InvalidField, d, "", err.Error())
		return false
	}
	strays, err := kjson.UnmarshalStrict(text, into, kjson.DisallowUnknownFields)
	for _, e := range strays {
		a.rep.ErrorAt(report.UnknownField, d, fieldPath(e), "unknown field")
	}
	if err != nil {
		path, message := describeTypeError(err)
		a.rep.ErrorAt(report.InvalidField, d, path, message)
	}
	return err == nil
}

// fieldPath is the path that a strict decoding error carries.
func fieldPath(err error) string {
	var at kjson.FieldError
	if errors.As(err, &at) {
		return at.FieldPath()
	}
	return ""
}

// describeTypeError puts a decoding error into the wording of field errors.
func describeTypeError(err error) (path, message string) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return trimGoTypes(wrong.Field), "Invalid value: must be of type " + wrong.Type.String() + ", not " + wrong.Value
	}
	return "", err.Error()
}

// trimGoTypes leaves out what stands for embedded Go types in a decoding error's path. Fields of the API begin in lower
// case.
func trimGoTypes(path string) string {
	parts := strings.Split(path, ".")
	return strings.Join(
		slices.DeleteFunc(parts, func(p string) bool { return p != "" && unicode.IsUpper(rune(p[0])) }),
		".",
	)
}
