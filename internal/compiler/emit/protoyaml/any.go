package protoyaml

import (
	"slices"

	"google.golang.org/protobuf/types/known/anypb"
)

// packedKey names an Any's text: its type and bytes, and how far to the right it stands.
type packedKey struct {
	url, value string
	indent     int
}

// smallAny is the most bytes of an Any whose text is kept for others like it, unless there is a gap in it.
const smallAny = 256

// writeAny writes an Any as its type and the fields of the message that it holds.
func (w *writer) writeAny(a *anypb.Any, indent int) bool {
	if a.TypeUrl == "" && len(a.Value) == 0 {
		return false
	}
	name := packedKey{url: a.TypeUrl, indent: indent}
	if len(a.Value) <= smallAny {
		name.value = string(a.Value)
		if text, known := w.packed[name]; known {
			w.out = append(w.out, text...)
			return true
		}
	}
	begin, filled := len(w.out), w.filled
	w.writeUnpacked(a, indent)
	if len(a.Value) <= smallAny && w.filled == filled {
		w.packed[name] = slices.Clone(w.out[begin:])
	}
	return true
}

func (w *writer) writeUnpacked(a *anypb.Any, indent int) {
	m, err := a.UnmarshalNew()
	if err != nil {
		w.fail(err)
		return
	}
	w.writeText("'@type': ")
	w.writeString(a.TypeUrl, indent, false)
	_, isAny := m.(*anypb.Any)
	switch {
	case isAny:
		w.writePad(indent)
		w.writeText("value:")
		w.writeBelow(m.ProtoReflect(), indent)
	case isSpecial(m.ProtoReflect().Descriptor()):
		w.writePad(indent)
		w.writeText("value: ")
		w.writeSpecial(m.ProtoReflect(), indent, false)
	default:
		w.writeFields(m.ProtoReflect(), indent, true)
	}
}
