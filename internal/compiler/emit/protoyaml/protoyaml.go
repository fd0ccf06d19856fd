// Package protoyaml writes protobuf messages as YAML: the bytes that their JSON (protojson, with the names that fields
// have in their .proto file) becomes in sigs.k8s.io/yaml, keys in its order, but in one pass and without a tree.
//
// It knows the forms that make up nearly all of an Envoy configuration. A value in any other form is left to those two
// libraries, one value at a time.
package protoyaml

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Marshal writes a message. Errors are those of protojson, such as a string that is not UTF-8 and an Any of an unknown
// type, and maps whose keys are not strings of one line, of 100 bytes at most.
func Marshal(m proto.Message) (text []byte, err error) {
	parts, err := MarshalWith(m, Placeholders{})
	return bytes.Join(parts, nil), err
}

// Placeholders are what stands for something else in a message.
type Placeholders struct {
	// Items gives, for a message that stands in a list, the texts of the items that come in its place, which Items has
	// written for this indent; false leaves the message as it is. Nil leaves all.
	Items func(m proto.Message, indent int) (texts [][]byte, yes bool)
	// Strings are the strings that come in the place of others. A long one is written once; aliases refer to it.
	Strings map[string]string
}

// MarshalWith is Marshal of a message with gaps. The text is in parts.
func MarshalWith(m proto.Message, placeholders Placeholders) (parts [][]byte, err error) {
	w := newWriter()
	w.placeholders, w.anchors = placeholders, map[string]*anchor{}
	if !w.writeBlock(m.ProtoReflect(), 0) {
		w.writeText("{}\n")
	}
	return append(w.done, w.out), w.err
}

// Items writes items of lists, one after the other. It keeps the text of what they share.
type Items struct{ w *writer }

// NewItems makes one.
func NewItems() *Items { return &Items{newWriter()} }

// Marshal writes a message as an item of a list whose dashes stand at an indent.
func (i *Items) Marshal(m proto.Message, indent int) (text []byte, err error) {
	i.w.out = i.w.out[:0]
	i.w.writeDashed(m.ProtoReflect(), indent)
	return slices.Clone(i.w.out), i.w.err
}

func newWriter() *writer { return &writer{packed: map[packedKey][]byte{}, odd: map[string]string{}} }

// indentStep is how far the fields of a message stand to the right of the key that the message is under.
const indentStep = 2

// writer has the text so far.
type writer struct {
	done [][]byte // what comes before out and does not change any more
	out  []byte
	// packed has the text of small Anys: routes hold the same ones.
	packed map[packedKey][]byte
	// odd has the text of strings that the library was asked about.
	odd          map[string]string
	placeholders Placeholders
	// filled counts the gaps so far.
	filled int
	// anchors has what was written in the place of gaps, and names counts those of them that have one.
	anchors map[string]*anchor
	names   int
	err     error // the first
}

// fail keeps the first error.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) writeText(s string) { w.out = append(w.out, s...) }

func (w *writer) writePad(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// writeBlock writes a message's fields, each on lines of its own that begin with indent spaces; those of the first are
// there. It writes nothing and gives false if there are no fields.
func (w *writer) writeBlock(m protoreflect.Message, indent int) bool {
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		return w.writeAny(m.Interface().(*anypb.Any), indent)
	}
	return w.writeFields(m, indent, false)
}

// writeFields is block for a message that is not an Any. Begun says that the line has its spaces to come, too.
func (w *writer) writeFields(m protoreflect.Message, indent int, begun bool) bool {
	for _, f := range fieldsOf(m.Descriptor()) {
		if !m.Has(f) {
			continue
		}
		if begun {
			w.writePad(indent)
		}
		begun = true
		w.writeText(f.TextName())
		w.out = append(w.out, ':')
		w.writeField(f, m.Get(f), indent)
	}
	return begun
}

// writeField writes what follows a field's key.
func (w *writer) writeField(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	switch {
	case f.IsMap():
		w.out = append(w.out, '\n')
		w.writeMap(f, v.Map(), indent+indentStep)
	case f.IsList():
		w.out = append(w.out, '\n')
		for i, list := 0, v.List(); i < list.Len(); i++ {
			w.writeItem(f, list.Get(i), indent)
		}
	default:
		w.writeSingle(f, v, indent)
	}
}

// writeMap writes a map.
func (w *writer) writeMap(f protoreflect.FieldDescriptor, m protoreflect.Map, indent int) {
	if f.MapKey().Kind() != protoreflect.StringKind {
		w.fail(fmt.Errorf("%s: a map whose keys are not strings", f.FullName()))
		return
	}
	keys := make([]string, 0, m.Len())
	for k := range m.Range {
		if !isKey(k.String()) {
			w.fail(fmt.Errorf("%s: a key that is too long, not UTF-8 or of several lines", f.FullName()))
			return
		}
		keys = append(keys, k.String())
	}
	for _, k := range sortKeys(keys) {
		w.writePad(indent)
		w.writeKey(k)
		w.out = append(w.out, ':')
		w.writeSingle(f.MapValue(), m.Get(protoreflect.ValueOfString(k).MapKey()), indent)
	}
}

// writeSingle writes a value after its key.
func (w *writer) writeSingle(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	if f.Message() != nil {
		if s, is := v.Message().Interface().(*structpb.Struct); is && hasPlainKeys(s) {
			w.writeStruct(s, indent)
			return
		}
	}
	if f.Message() == nil || isSpecial(f.Message()) {
		w.out = append(w.out, ' ')
		w.writeValue(f, v, indent, false)
	} else {
		w.writeBelow(v.Message(), indent)
	}
}

// writeBelow writes a message with fields after its key.
func (w *writer) writeBelow(m protoreflect.Message, indent int) {
	mark := len(w.out)
	w.out = append(w.out, '\n')
	w.writePad(indent + indentStep)
	if !w.writeBlock(m, indent+indentStep) {
		w.out = append(w.out[:mark], " {}\n"...)
	}
}

// hasPlainKeys tells whether the keys of a Struct, and of those in it, need no quotation marks.
func hasPlainKeys(s *structpb.Struct) bool {
	for k, v := range s.GetFields() {
		if !isPlain(k) || len(k) > longestKey || !hasPlainKeys(v.GetStructValue()) {
			return false
		}
	}
	return true
}

// writeStruct writes a Struct after its key. Each route with sessions has one, so that what it mostly holds, texts,
// takes no way through JSON.
func (w *writer) writeStruct(s *structpb.Struct, indent int) {
	if len(s.GetFields()) == 0 {
		w.writeText(" {}\n")
		return
	}
	w.writeText("\n")
	for _, k := range sortKeys(slices.Collect(maps.Keys(s.GetFields()))) {
		w.writePad(indent + indentStep)
		w.writeKey(k)
		w.out = append(w.out, ':')
		switch v := s.GetFields()[k]; v.GetKind().(type) {
		case *structpb.Value_StructValue:
			w.writeStruct(v.GetStructValue(), indent+indentStep)
		case *structpb.Value_StringValue:
			w.out = append(w.out, ' ')
			w.writeString(v.GetStringValue(), indent+indentStep, false)
		default:
			w.out = append(w.out, ' ')
			w.writeForeign(v, indent+indentStep, false)
		}
	}
}

// writeItem writes an item of a list whose dashes stand at an indent.
func (w *writer) writeItem(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	if f.Message() != nil && !isSpecial(f.Message()) {
		w.writeItems(v.Message(), indent)
		return
	}
	w.writeDash(indent)
	w.writeValue(f, v, indent+indentStep, true)
}

// writeItems writes a message of a list, or what comes in its place.
func (w *writer) writeItems(m protoreflect.Message, indent int) {
	if w.placeholders.Items != nil {
		if texts, yes := w.placeholders.Items(m.Interface(), indent); yes {
			w.done = append(append(w.done, w.out), texts...)
			w.out = nil
			w.filled++
			return
		}
	}
	w.writeDashed(m, indent)
}

// writeDashed writes a message of a list.
func (w *writer) writeDashed(m protoreflect.Message, indent int) {
	w.writeDash(indent)
	if !w.writeBlock(m, indent+indentStep) {
		w.writeText("{}\n")
	}
}

func (w *writer) writeDash(indent int) {
	w.writePad(indent)
	w.writeText("- ")
}
