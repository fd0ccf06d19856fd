// Package protoyaml writes protobuf messages as YAML: the bytes that their JSON (protojson, with the names that fields
// have in their .proto file) becomes in sigs.k8s.io/yaml, keys in its order, but in one pass and without a tree.
//
// It knows the forms that make up nearly all of an Envoy configuration. A value in any other form is left to those two
// libraries, one value at a time.
package protoyaml

import (
	"bytes"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Marshal writes a message. Errors are those of protojson, such as a string that is not UTF-8 and an Any of an unknown
// type, and maps whose keys are not strings of one line, of 100 bytes at most.
func Marshal(m proto.Message) (text []byte, err error) {
	parts, err := MarshalWith(m, Gaps{})
	return bytes.Join(parts, nil), err
}

// Gaps are what stands for something else in a message.
type Gaps struct {
	// Items gives, for a message that stands in a list, the texts of the items that come in its place, which Items has
	// written for this indent; false leaves the message as it is. Nil leaves all.
	Items func(m proto.Message, indent int) (texts [][]byte, yes bool)
	// Strings are the strings that come in the place of others. A long one is written once; aliases refer to it.
	Strings map[string]string
}

// MarshalWith is Marshal of a message with gaps. The text is in parts.
func MarshalWith(m proto.Message, gaps Gaps) (parts [][]byte, err error) {
	w := newWriter()
	w.gaps, w.anchors = gaps, map[string]*anchor{}
	if !w.block(m.ProtoReflect(), 0) {
		w.text("{}\n")
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
	i.w.dashed(m.ProtoReflect(), indent)
	return slices.Clone(i.w.out), i.w.err
}

func newWriter() *writer { return &writer{packed: map[packed][]byte{}, odd: map[string]string{}} }

// step is how far the fields of a message stand to the right of the key that the message is under.
const step = 2

// writer has the text so far.
type writer struct {
	done [][]byte // what comes before out and does not change any more
	out  []byte
	// packed has the text of small Anys: routes hold the same ones.
	packed map[packed][]byte
	// odd has the text of strings that the library was asked about.
	odd  map[string]string
	gaps Gaps
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

func (w *writer) text(s string) { w.out = append(w.out, s...) }

func (w *writer) pad(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

// block writes a message's fields, each on lines of its own that begin with indent spaces; those of the first are
// there. It writes nothing and gives false if there are no fields.
func (w *writer) block(m protoreflect.Message, indent int) bool {
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		return w.any(m.Interface().(*anypb.Any), indent)
	}
	return w.fields(m, indent, false)
}

// fields is block for a message that is not an Any. Begun says that the line has its spaces to come, too.
func (w *writer) fields(m protoreflect.Message, indent int, begun bool) bool {
	for _, f := range fieldsOf(m.Descriptor()) {
		if !m.Has(f) {
			continue
		}
		if begun {
			w.pad(indent)
		}
		begun = true
		w.text(f.TextName())
		w.out = append(w.out, ':')
		w.field(f, m.Get(f), indent)
	}
	return begun
}

// field writes what follows a field's key.
func (w *writer) field(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	switch {
	case f.IsMap():
		w.out = append(w.out, '\n')
		w.entries(f, v.Map(), indent+step)
	case f.IsList():
		w.out = append(w.out, '\n')
		for i, list := 0, v.List(); i < list.Len(); i++ {
			w.item(f, list.Get(i), indent)
		}
	default:
		w.single(f, v, indent)
	}
}

// entries writes a map.
func (w *writer) entries(f protoreflect.FieldDescriptor, m protoreflect.Map, indent int) {
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
	for _, k := range inOrder(keys) {
		w.pad(indent)
		w.key(k)
		w.out = append(w.out, ':')
		w.single(f.MapValue(), m.Get(protoreflect.ValueOfString(k).MapKey()), indent)
	}
}

// single writes a value after its key.
func (w *writer) single(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	if f.Message() == nil || special(f.Message()) {
		w.out = append(w.out, ' ')
		w.value(f, v, indent, false)
	} else {
		w.below(v.Message(), indent)
	}
}

// below writes a message with fields after its key.
func (w *writer) below(m protoreflect.Message, indent int) {
	mark := len(w.out)
	w.out = append(w.out, '\n')
	w.pad(indent + step)
	if !w.block(m, indent+step) {
		w.out = append(w.out[:mark], " {}\n"...)
	}
}

// item writes an item of a list whose dashes stand at an indent.
func (w *writer) item(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int) {
	if f.Message() != nil && !special(f.Message()) {
		w.items(v.Message(), indent)
		return
	}
	w.dash(indent)
	w.value(f, v, indent+step, true)
}

// items writes a message of a list, or what comes in its place.
func (w *writer) items(m protoreflect.Message, indent int) {
	if w.gaps.Items != nil {
		if texts, yes := w.gaps.Items(m.Interface(), indent); yes {
			w.done = append(append(w.done, w.out), texts...)
			w.out = nil
			w.filled++
			return
		}
	}
	w.dashed(m, indent)
}

// dashed writes a message of a list.
func (w *writer) dashed(m protoreflect.Message, indent int) {
	w.dash(indent)
	if !w.block(m, indent+step) {
		w.text("{}\n")
	}
}

func (w *writer) dash(indent int) {
	w.pad(indent)
	w.text("- ")
}

// packed names an Any's text: its type and bytes, and how far to the right it stands.
type packed struct {
	url, value string
	indent     int
}

// smallAny is the most bytes of an Any whose text is kept for others like it, unless there is a gap in it.
const smallAny = 256

// any writes an Any as its type and the fields of the message that it holds.
func (w *writer) any(a *anypb.Any, indent int) bool {
	if a.TypeUrl == "" && len(a.Value) == 0 {
		return false
	}
	name := packed{url: a.TypeUrl, indent: indent}
	if len(a.Value) <= smallAny {
		name.value = string(a.Value)
		if text, known := w.packed[name]; known {
			w.out = append(w.out, text...)
			return true
		}
	}
	begin, filled := len(w.out), w.filled
	w.unpacked(a, indent)
	if len(a.Value) <= smallAny && w.filled == filled {
		w.packed[name] = slices.Clone(w.out[begin:])
	}
	return true
}

func (w *writer) unpacked(a *anypb.Any, indent int) {
	m, err := a.UnmarshalNew()
	if err != nil {
		w.fail(err)
		return
	}
	w.text("'@type': ")
	w.string(a.TypeUrl, indent, false)
	_, isAny := m.(*anypb.Any)
	switch {
	case isAny:
		w.pad(indent)
		w.text("value:")
		w.below(m.ProtoReflect(), indent)
	case special(m.ProtoReflect().Descriptor()):
		w.pad(indent)
		w.text("value: ")
		w.special(m.ProtoReflect(), indent, false)
	default:
		w.fields(m.ProtoReflect(), indent, true)
	}
}
