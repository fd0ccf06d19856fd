package protoyaml

import (
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	library "sigs.k8s.io/yaml"
)

// orders has the fields of each type of message that was written.
var orders sync.Map // of []protoreflect.FieldDescriptor by protoreflect.MessageDescriptor

// fieldsOf gives a message's fields in the order of their names.
func fieldsOf(m protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if known, ok := orders.Load(m); ok {
		return known.([]protoreflect.FieldDescriptor)
	}
	names := make([]string, m.Fields().Len())
	for i := range names {
		names[i] = m.Fields().Get(i).TextName()
	}
	ordered := make([]protoreflect.FieldDescriptor, len(names))
	for i, name := range sortKeys(names) {
		ordered[i] = m.Fields().ByTextName(name)
	}
	orders.Store(m, ordered)
	return ordered
}

// sortKeys sorts keys as the library does: by their characters, but for numbers, which go by their size. It orders keys
// with anything but small letters and punctuation.
func sortKeys(keys []string) []string {
	if len(keys) < 2 || !slices.ContainsFunc(keys, func(k string) bool { return strings.Trim(k, alphabetical) != "" }) {
		slices.Sort(keys)
		return keys
	}
	mapping := make(map[string]bool, len(keys))
	for _, k := range keys {
		mapping[k] = true
	}
	var root yaml.Node
	text, err := library.Marshal(mapping)
	if err == nil {
		err = yaml.Unmarshal(text, &root)
	}
	if err != nil {
		panic("protoyaml: the library can't read what it has written: " + err.Error())
	}
	for i := range keys {
		keys[i] = root.Content[0].Content[2*i].Value
	}
	return keys
}

// alphabetical are the characters whose order is that of their codes.
const alphabetical = "abcdefghijklmnopqrstuvwxyz._-/"
