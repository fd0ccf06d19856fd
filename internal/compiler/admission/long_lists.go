package admission

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const (
	// longList is the most items of a list, or entries of a map, that the schema's validator gets at once: it compares
	// each error with all before it. No list of Gateway API may have more.
	longList = 128
	// enoughErrors ends the search for more in long lists.
	enoughErrors = 100
)

// schemaValidator checks types, patterns and limits in time that is in proportion to an object's size.
type schemaValidator struct {
	schema *spec.Schema
	whole  validation.SchemaValidator
	parts  sync.Map // *spec.Schema: *schemaValidator, for what is in long lists and maps
}

func newSchemaValidator(schema *spec.Schema) *schemaValidator {
	return &schemaValidator{schema: schema, whole: validation.NewSchemaValidatorFromOpenAPI(schema)}
}

// validate gives the errors of a value at a path.
func (v *schemaValidator) validate(path *field.Path, value any) field.ErrorList {
	if !hasLongList(value) {
		return validation.ValidateCustomResource(path, value, v.whole)
	}
	l := longLists{validator: v}
	short := l.shorten(path, value, v.schema)
	return append(validation.ValidateCustomResource(path, short, v.whole), l.errs...)
}

// findPart gives the validator of a part of the schema.
func (v *schemaValidator) findPart(schema *spec.Schema) *schemaValidator {
	part, known := v.parts.Load(schema)
	if !known {
		part, _ = v.parts.LoadOrStore(schema, newSchemaValidator(schema))
	}
	return part.(*schemaValidator)
}

// hasLongList tells whether there is a long list or map anywhere in a value.
func hasLongList(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > longList {
			return true
		}
		for _, v := range value {
			if hasLongList(v) {
				return true
			}
		}
	case []any:
		return len(value) > longList || slices.ContainsFunc(value, hasLongList)
	}
	return false
}

// findTooLong gives the lists that are far longer than the schema lets them be. What is in them is not worth a look.
func (v *schemaValidator) findTooLong(path *field.Path, value any, schema *spec.Schema) (errs field.ErrorList) {
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			if property, known := schema.Properties[name]; known {
				errs = append(errs, v.findTooLong(path.Child(name), item, &property)...)
			}
		}
	case []any:
		if most := schema.MaxItems; most != nil && len(value) > longList && int64(len(value)) > *most {
			return field.ErrorList{field.TooMany(path, len(value), int(*most))}
		}
		if schema.Items == nil || schema.Items.Schema == nil {
			return nil
		}
		for i, item := range value {
			errs = append(errs, v.findTooLong(path.Index(i), item, schema.Items.Schema)...)
		}
	}
	return errs
}

// longLists takes what is in long lists and maps out of a value, and checks it piece by piece.
type longLists struct {
	validator *schemaValidator
	errs      field.ErrorList
}

// shorten gives the value with one item of each long list and no entry of each long map. The value itself stays as it
// is.
func (l *longLists) shorten(path *field.Path, value any, schema *spec.Schema) any {
	switch value := value.(type) {
	case map[string]any:
		return l.shortenMap(path, value, schema)
	case []any:
		if schema.Items == nil || schema.Items.Schema == nil {
			return value
		}
		return l.shortenList(path, value, schema.Items.Schema)
	}
	return value
}

func (l *longLists) shortenList(path *field.Path, list []any, items *spec.Schema) any {
	if len(list) <= longList {
		short := slices.Clone(list)
		for i, item := range list {
			short[i] = l.shorten(path.Index(i), item, items)
		}
		return short
	}
	for i, item := range list {
		l.checkPiece(path.Index(i), item, items)
	}
	return list[:1]
}

func (l *longLists) shortenMap(path *field.Path, fields map[string]any, schema *spec.Schema) any {
	short := make(map[string]any, len(schema.Properties))
	extra := schema.AdditionalProperties
	entries := extra != nil && extra.Schema != nil
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		property, known := schema.Properties[name]
		switch {
		case known:
			short[name] = l.shorten(path.Child(name), fields[name], &property)
		case entries && len(fields) > longList:
			l.checkPiece(path.Key(name), fields[name], extra.Schema)
		default:
			short[name] = fields[name]
		}
	}
	return short
}

// checkPiece validates a piece, unless errors enough have been found.
func (l *longLists) checkPiece(path *field.Path, value any, schema *spec.Schema) {
	if len(l.errs) > enoughErrors {
		return
	}
	for _, e := range l.validator.findPart(schema).validate(path, value) {
		if _, detail, found := strings.Cut(e.Detail, " in body "); found {
			e.Detail = detail // without the piece's own name for the field
		}
		l.errs = append(l.errs, e)
	}
}
