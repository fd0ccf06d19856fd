package protoyaml

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	library "sigs.k8s.io/yaml"
)

// isSpecial tells whether a message's JSON is not made of its fields.
func isSpecial(m protoreflect.MessageDescriptor) bool {
	name := string(m.FullName())
	return strings.HasPrefix(name, "google.protobuf.") && name != "google.protobuf.Any"
}

// writeValue writes a value that is no message with fields, and the end of its line. The line is ready for it: after
// the key that stands at the indent, or in a list after the dash that stands before the indent.
func (w *writer) writeValue(f protoreflect.FieldDescriptor, v protoreflect.Value, indent int, inList bool) {
	switch f.Kind() {
	case protoreflect.StringKind:
		w.writeString(v.String(), indent, inList)
	case protoreflect.BytesKind:
		w.writeString(base64.StdEncoding.EncodeToString(v.Bytes()), indent, inList)
	case protoreflect.BoolKind:
		w.out = append(strconv.AppendBool(w.out, v.Bool()), '\n')
	case protoreflect.EnumKind:
		w.writeEnum(f.Enum(), v.Enum(), indent, inList)
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		w.out = append(strconv.AppendInt(w.out, v.Int(), 10), '\n')
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		w.out = append(strconv.AppendUint(w.out, v.Uint(), 10), '\n')
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.writeString(strconv.FormatInt(v.Int(), 10), indent, inList)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.writeString(strconv.FormatUint(v.Uint(), 10), indent, inList)
	case protoreflect.FloatKind:
		w.writeFloat(v.Float(), wrapperspb.Float(float32(v.Float())), indent, inList)
	case protoreflect.DoubleKind:
		w.writeFloat(v.Float(), wrapperspb.Double(v.Float()), indent, inList)
	default:
		w.writeSpecial(v.Message(), indent, inList)
	}
}

func (w *writer) writeEnum(e protoreflect.EnumDescriptor, n protoreflect.EnumNumber, indent int, inList bool) {
	if known := e.Values().ByNumber(n); known != nil {
		w.writeString(string(known.Name()), indent, inList)
	} else {
		w.out = append(strconv.AppendInt(w.out, int64(n), 10), '\n')
	}
}

// writeFloat writes whole numbers; of others, box has the JSON.
func (w *writer) writeFloat(f float64, box protoreflect.ProtoMessage, indent int, inList bool) {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		w.out = append(strconv.AppendInt(w.out, int64(f), 10), '\n')
	} else {
		w.writeForeign(box, indent, inList)
	}
}

// writeSpecial writes a message for which the tests in special say yes.
func (w *writer) writeSpecial(m protoreflect.Message, indent int, inList bool) {
	switch box := m.Interface().(type) {
	case *durationpb.Duration:
		if box.GetNanos() == 0 && box.CheckValid() == nil {
			w.writeString(strconv.FormatInt(box.GetSeconds(), 10)+"s", indent, inList)
			return
		}
	case *wrapperspb.UInt32Value, *wrapperspb.BoolValue, *wrapperspb.StringValue, *wrapperspb.DoubleValue:
		f := m.Descriptor().Fields().ByName("value")
		w.writeValue(f, m.Get(f), indent, inList)
		return
	}
	w.writeForeign(m.Interface(), indent, inList)
}

// writeForeign writes a message as the libraries do.
func (w *writer) writeForeign(m protoreflect.ProtoMessage, indent int, inList bool) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		w.fail(err)
		return
	}
	w.writeByLibrary(text, indent, inList)
}

// writeByLibrary writes a JSON value as the library does in such a place: lines break where they get too long, so it is
// given the value below as many keys, the last of which is as long as the one here.
func (w *writer) writeByLibrary(value []byte, indent int, inList bool) {
	above, begin, nested := indent/indentStep, "-", "["+string(value)+"]"
	if !inList {
		line := w.out[bytes.LastIndexByte(w.out, '\n')+1:]
		key := strings.Repeat("k", len(line)-indent-len(": "))
		begin, nested = key+":", `{"`+key+`":`+string(value)+"}"
	}
	text, err := library.JSONToYAML([]byte(strings.Repeat(`{"k":`, above) + nested + strings.Repeat("}", above)))
	if err != nil {
		w.fail(err)
		return
	}
	lines := strings.SplitAfterN(string(text), "\n", above+1)
	_, rest, _ := strings.Cut(lines[above], begin)
	w.out = append(w.out[:len(w.out)-1], rest...)
}

// quoteJSON is a string as JSON.
func (w *writer) quoteJSON(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		w.fail(err)
	}
	return text
}
