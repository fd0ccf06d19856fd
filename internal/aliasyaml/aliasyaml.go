// Package aliasyaml writes YAML in which parts that are common to many files are aliases of anchors in one file, so
// that a golden file shows what is special about it.
//
// A [Part] is a value with a name. Where a value equals a part it is written as *name; where a mapping has all keys
// of a part, most of them with the part's values, it is written as {<<: *name} and the keys that differ. That is
// YAML's own merge key: the parts' file (see [Anchors]) with another file behind it is a document, and a parser of
// YAML reads it.
package aliasyaml

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Part is a value that stands in many files: strings, numbers, booleans, nil, []any and map[string]any.
type Part struct {
	Name  string // of letters, digits and dashes
	Value any
}

// Text writes a value under a key, with aliases of the parts. "key: &name" gives it an anchor of its own.
func Text(key string, value any, parts []Part) []byte {
	key, anchor, _ := strings.Cut(key, ": &")
	n := abbreviate(value, parts)
	if anchor != "" {
		n = abbreviateInner(value, parts) // an alias has no anchor
		n.anchor = anchor
	}
	return []byte(renderEntry(quoteScalar(key), n, 0))
}

// Anchors writes the parts under the key common, each with its anchor. A part has aliases of those above it.
func Anchors(parts []Part) []byte {
	out := []byte("common:\n")
	for i, p := range parts {
		n := abbreviateInner(p.Value, parts[:i])
		n.anchor = p.Name
		out = append(out, "  "+renderEntry(p.Name, n, 2)...)
	}
	return out
}

// node is a value with its aliases.
type node struct {
	anchor string
	alias  string // where the value is a part
	merged string // the part that a mapping begins with
	scalar string
	items  []node
	keys   []string
	fields map[string]node
}

// minGain is how many bytes a merged part must save at least.
const minGain = 16

// abbreviate puts aliases in the place of parts, in the innermost values first.
func abbreviate(value any, parts []Part) node {
	for _, p := range parts {
		if reflect.DeepEqual(p.Value, value) {
			return node{alias: p.Name}
		}
	}
	return abbreviateInner(value, parts)
}

func abbreviateInner(value any, parts []Part) node {
	switch v := value.(type) {
	case map[string]any:
		return abbreviateMapping(v, parts)
	case []any:
		n := node{items: []node{}}
		for _, item := range v {
			n.items = append(n.items, abbreviate(item, parts))
		}
		return n
	default:
		return node{scalar: quoteScalar(value)}
	}
}

func abbreviateMapping(mapping map[string]any, parts []Part) node {
	n := node{fields: map[string]node{}, keys: slices.Sorted(maps.Keys(mapping))}
	for key, value := range mapping {
		n.fields[key] = abbreviate(value, parts)
	}
	best, gain := Part{}, minGain
	for _, p := range parts {
		if g := n.gain(mapping, p); g > gain {
			best, gain = p, g
		}
	}
	if best.Name == "" {
		return n
	}
	n.merged = best.Name
	n.keys = slices.DeleteFunc(n.keys, func(key string) bool {
		value, is := best.Value.(map[string]any)[key]
		return is && reflect.DeepEqual(value, mapping[key])
	})
	return n
}

// gain is how many bytes a mapping is shorter when it begins with a part; none where it lacks one of the part's keys
// or where most differ.
func (n node) gain(mapping map[string]any, p Part) int {
	part, is := p.Value.(map[string]any)
	if !is {
		return 0
	}
	saved, equal := -len("<<: *, ")-len(p.Name), 0
	for key, value := range part {
		own, has := mapping[key]
		if !has {
			return 0
		}
		if reflect.DeepEqual(own, value) {
			equal++
			saved += len(key) + len(renderFlow(n.fields[key])) + len(": , ")
		}
	}
	if 2*equal <= len(part) {
		return 0
	}
	return saved
}
