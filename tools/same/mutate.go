package main

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// parseDocument reads a document of YAML; nil for what is no object.
func parseDocument(document string) map[string]any {
	var fields map[string]any
	if yaml.Unmarshal([]byte(document), &fields) != nil {
		return nil
	}
	return fields
}

// writeDocument writes an object as YAML, without a line's end.
func writeDocument(fields map[string]any) string {
	text, err := yaml.Marshal(fields)
	if err != nil {
		panic(err) // it was read from YAML
	}
	return strings.TrimSuffix(string(text), "\n")
}

// named are the fields that hold names which other fields refer to, or refer to those.
var named = []string{"name", "sectionName", "gatewayClassName", "kubernetes.io/service-name"}

// addSuffix renames all that documents name, so that they go with others that have the same names.
func addSuffix(documents []string, suffix string) []string {
	renamed := slices.Clone(documents)
	for i, document := range documents {
		if fields := parseDocument(document); fields != nil {
			suffixNames(fields, suffix)
			renamed[i] = writeDocument(fields)
		}
	}
	return renamed
}

func suffixNames(value any, suffix string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if text, is := member.(string); is && text != "" && slices.Contains(named, name) {
				v[name] = text + suffix
				continue
			}
			suffixNames(member, suffix)
		}
	case []any:
		for _, item := range v {
			suffixNames(item, suffix)
		}
	}
}

// scribbles are words and what may stand in their place.
var scribbles = [][2]string{
	{".com", ".org"},
	{"hostname: ", "hostname: w."},
	{"hostname: *.", "hostname: "},
	{"Fail", "Rebalance"},
	{"Cookie", "Header"},
	{"/cart", "/"},
	{"namespace: ", "namespace: x"},
	{"name: ", "name: x"},
	{"weight: ", "weight: 1"},
	{"true", "false"},
	{"false", "true"},
	{"HTTPRoute", "GRPCRoute"},
	{"v1alpha1", "v1"},
	{"Permanent", "Session"},
	{"port: 80", "port: 81"},
}

var digit = regexp.MustCompile(`[2-9]`)

// scribble changes a word, a digit or the lines of a text, which keeps its form.
func scribble(r *rand.Rand, document string) string {
	if r.IntN(6) == 0 {
		return "# a comment\n" + document
	}
	digits := digit.FindAllStringIndex(document, -1)
	if len(digits) > 0 && r.IntN(2) == 0 {
		at := pick(r, digits)[0]
		return document[:at] + strconv.Itoa(1+r.IntN(9)) + document[at+1:]
	}
	fitting := slices.DeleteFunc(slices.Clone(scribbles), func(s [2]string) bool {
		return !strings.Contains(document, s[0])
	})
	if len(fitting) == 0 {
		return document
	}
	s := pick(r, fitting)
	return strings.Replace(document, s[0], s[1], 1+r.IntN(2))
}

// oddities are values that no API server would let through in most places.
var oddities = []any{
	nil, true, false, "", "x", "a b;c\r\nSet-Cookie: evil=1", "/;evil=1", "/../..", "*", "-1h", "99999h99999h",
	"0s", "1.5h", strings.Repeat("n", 5000), "\x00", "ä", "__Host-x", ":path", "host", "x-limpet-pin", "{{.}}",
	"0", "true", int64(0), int64(-1), int64(1), int64(65536), int64(9223372036854775807), 1.5, 1e300,
	[]any{},
	[]any{nil},
	[]any{"x"},
	[]any{map[string]any{}},
	map[string]any{},
	map[string]any{"name": nil},
	map[string]any{"unknown": int64(1)},
}

// fieldValues are all values that fields of a name have somewhere.
type fieldValues map[string][]any

// collect takes in the values of documents.
func (f fieldValues) collect(documents []string) {
	for _, document := range documents {
		for _, field := range listFields(parseDocument(document)) {
			f[field.name] = append(f[field.name], field.of[field.name])
		}
	}
}

// fieldRef is a field of an object, to be changed in place.
type fieldRef struct {
	of   map[string]any
	name string
}

// listFields gives all fields below a value, in a fixed order.
func listFields(value any) []fieldRef {
	var all []fieldRef
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, fieldRef{v, name}), listFields(v[name])...)
		}
	case []any:
		for _, item := range v {
			all = append(all, listFields(item)...)
		}
	}
	return all
}

// mutate takes a field of a document out, gives it a value that such a field has elsewhere (most often,
// for such documents are admitted more often), or an odd one.
func (f fieldValues) mutate(r *rand.Rand, document string) string {
	fields := parseDocument(document)
	all := listFields(fields)
	if len(all) == 0 {
		return document
	}
	field := pick(r, all)
	switch r.IntN(10) {
	case 0, 1:
		delete(field.of, field.name)
	case 2:
		field.of[field.name] = pick(r, oddities)
	case 3:
		field.of[field.name] = mutateItems(r, field.of[field.name])
	default:
		field.of[field.name] = runtime.DeepCopyJSONValue(pick(r, f[field.name]))
	}
	return writeDocument(fields)
}

// mutateItems takes an item of a list out, or has it twice; what is no list becomes one.
func mutateItems(r *rand.Rand, value any) any {
	items, isList := value.([]any)
	if !isList || len(items) == 0 {
		return []any{value}
	}
	at := r.IntN(len(items))
	if r.IntN(2) == 0 {
		return slices.Delete(slices.Clone(items), at, at+1)
	}
	return append(slices.Clone(items), items[at])
}
