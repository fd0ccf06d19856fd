package policyconfig

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// decoder turns a document whose syntax is sound into values and collects every fault on the way.
// A value with a fault is not stored: the field keeps its default.
type decoder struct {
	report
	text string
}

// field is one row of a decoder table: a field's name in JSON and what stores its value.
type field[T any] struct {
	name     string
	required bool
	set      setter[T]
}

// setter decodes a value and stores it in the object that it belongs to.
type setter[T any] func(d *decoder, at *jsonPath, v gjson.Result, into *T)

// open checks size and syntax and gives the root. Its errors are the only ones then.
func (d *decoder) open(limit int) (root gjson.Result, ok bool) {
	if len(d.text) > limit {
		d.add(nil, "Too long: "+strconv.Itoa(len(d.text))+" bytes: must have at most "+strconv.Itoa(limit))
		return root, false
	}
	if fault := checkSyntax(d.text); fault != "" {
		d.add(nil, fault)
		return root, false
	}
	return gjson.Parse(d.text), true
}

// object decodes a JSON object by a decoder table.
func object[T any](d *decoder, at *jsonPath, v gjson.Result, fields []field[T], into *T) {
	if !v.IsObject() {
		d.wrongType(at, v, "an object")
		return
	}
	var seen uint32
	here := jsonPath{parent: at, index: noItem}
	v.ForEach(func(key, value gjson.Result) bool {
		i := findField(fields, key.Str)
		if i < 0 {
			d.unknown(at, key, similar(fields, key.Str))
			return true
		}
		here.name = fields[i].name
		if seen&(1<<i) != 0 {
			d.note(&here, "duplicate field")
			return true
		}
		seen |= 1 << i
		fields[i].set(d, &here, value, into)
		return true
	})
	for i := range fields {
		if fields[i].required && seen&(1<<i) == 0 {
			d.required(at.child(fields[i].name), "")
		}
	}
}

func findField[T any](fields []field[T], name string) int {
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

// similar is the name of the field that was probably meant: the same but for case, hyphens and underscores, or else one
// that a slip of a letter makes of it.
func similar[T any](fields []field[T], name string) string {
	word, near := letters(name), ""
	for i := range fields {
		switch other := letters(fields[i].name); {
		case other == word:
			return fields[i].name
		case near == "" && isSlip(other, word):
			near = fields[i].name
		}
	}
	return near
}

// letters are a name's in lower case, without hyphens and underscores.
func letters(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		if c := name[i]; c != '-' && c != '_' {
			b = append(b, lower(c))
		}
	}
	return string(b)
}

// isSlip tells whether a letter is missing, wrong or too many in one of two words, or two changed places.
func isSlip(a, b string) bool {
	if min(len(a), len(b)) < 3 {
		return false // of two letters any word may be made
	}
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// unknown notes a field that its object does not have. Where it may be a secret, its line and column stand for
// its name.
func (d *decoder) unknown(at *jsonPath, key gjson.Result, meant string) {
	message := "unknown field"
	if d.hidden {
		line, column := position(d.text, key.Index)
		message += " at " + strconv.Itoa(line) + ":" + strconv.Itoa(column)
	} else {
		at = at.child(key.Str)
	}
	if meant != "" {
		message += ": did you mean " + strconv.Quote(meant) + "?"
	}
	d.note(at, message)
}

// wrongType notes a value of another type than wanted. Only the type is named, for any value may be misplaced.
func (d *decoder) wrongType(at *jsonPath, v gjson.Result, wanted string) {
	d.add(at, "Invalid value: "+typeName(v)+": must be "+wanted)
}

func typeName(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "object"
	case v.IsArray():
		return "array"
	case v.Type == gjson.String:
		return "string"
	case v.Type == gjson.Number:
		return "number"
	case v.Type == gjson.Null:
		return "null"
	}
	return "boolean"
}

// str gives a JSON string.
func (d *decoder) str(at *jsonPath, v gjson.Result) (string, bool) {
	if v.Type != gjson.String {
		d.wrongType(at, v, "a string")
		return "", false
	}
	return v.Str, true
}

// ruled gives a copy of a JSON string that keeps a rule, or "".
//
// A copy, for TinyGo's collector walks from a pointer into a large object back to its beginning, block by block:
// with 10,000 policies whose strings pointed into the document each collection took two seconds.
func (d *decoder) ruled(at *jsonPath, v gjson.Result, rule *textRule) string {
	s, ok := d.str(at, v)
	if !ok {
		return ""
	}
	if err := rule.fault(s); err != nil {
		d.invalid(at, quote(s), err.Error())
		return ""
	}
	return strings.Clone(s)
}

// size checks the number of items of a list and gives it.
func (d *decoder) size(at *jsonPath, v gjson.Result, count countRange) (n int, ok bool) {
	if !v.IsArray() {
		d.wrongType(at, v, "an array")
		return 0, false
	}
	v.ForEach(func(_, _ gjson.Result) bool {
		n++
		return true
	})
	switch {
	case n < count.min:
		d.required(at, "must have at least "+strconv.Itoa(count.min)+" item")
	case n > count.max:
		d.add(at, "Too many: "+strconv.Itoa(n)+": must have at most "+strconv.Itoa(count.max)+" items")
	default:
		return n, true
	}
	return 0, false
}

// each visits the items of a list.
func each(at *jsonPath, v gjson.Result, visit func(here *jsonPath, i int, item gjson.Result)) {
	here := jsonPath{parent: at}
	v.ForEach(func(_, item gjson.Result) bool {
		visit(&here, here.index, item)
		here.index++
		return true
	})
}
