package protoyaml

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"sigs.k8s.io/yaml"
)

// compareWithLibrary holds a message's text to that of the libraries.
func compareWithLibrary(t *testing.T, m proto.Message) {
	t.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want, refused := yaml.JSONToYAML(text)
	got, err := Marshal(m)
	if (err == nil) != (refused == nil) || err == nil && string(got) != string(want) {
		t.Errorf("error %v, want %v; got\n%s\nwant\n%s", err, refused, got, want)
	}
}

// strangeStrings are strings that YAML has views about.
var strangeStrings = []string{
	"", " ", "a", "y", "no", "On", "~", "null", "NULL", "nil", "1", "-1", "1.5", "1e3", "0x1f", "0b11", "012", "1_000", "1:20", ".5", ".inf",
	"<<", "=", "10.0.0.1", "10.0.0.256", "1.2.3.", "1..2.", "::1", "10.0.0.1:80", "2026-11-21", "2026-11-21T10:00:00Z", "8h", "2s", "a:b",
	"a: b", "a #b", "a#b", "#a", "- a", "-a", "--- a", "...", "?a", "? a", "@a", "%a", "&a", "*a", "!a", "|", ">", "'a'", "\"a\"", "`a`",
	"[a]", "{a: b}", "a,b", "a ", " a", "a  b", "/a/b-c.d_e", "*.example.com", "ä", "日本", "a\tb", "a\x00b", "a\u2028b", "a\u0085b", "\ufeff",
	"a\n", "\n", "\n\n", "a\n\n", "a\nb", "a\nb\n", " a\nb\n", "a\n b\n", "a \nb\n", "a\nb ", "a\n\n\nb\n", "a\nä\n", "a\n\tb\n", "\na\n", "a\rb", "a\r\nb\r\n",
	strings.Repeat("long ", 30), strings.Repeat("long", 40), strings.Repeat("two  blanks: # ", 12), strings.Repeat("é ", 60),
	"^wasmcustom\\.limpet_sessions(\\.policy\\.(.+))\\.outcome\\.[a-z-]+$", "{\n  \"a\": [\n    1\n  ]\n}\n", `C:\x`, "<a>&b", "\U0001F41A",
}

// TestStrings writes strange strings as fields, in lists, as keys, and far to the right.
func TestStrings(t *testing.T) {
	for _, s := range strangeStrings {
		route := &routev3.Route{Name: s, RequestHeadersToRemove: []string{s, s}}
		host := &routev3.VirtualHost{Name: s, Domains: []string{s}, Routes: []*routev3.Route{route}}
		compareWithLibrary(t, route)
		compareWithLibrary(t, host)
		compareWithLibrary(t, &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{host}})
		if !isKey(s) {
			continue
		}
		compareWithLibrary(t, &routev3.Route{TypedPerFilterConfig: map[string]*anypb.Any{s: packMessage(t, wrapperspb.String(s)), "envoy": {}, "a1": {}, "a10": {}, "a9": {}, "a_": {}}})
	}
}

func packMessage(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestLongText fills gaps with long text: it is there once, wherever the gaps are, and the message reads as if it stood in
// all of them.
func TestLongText(t *testing.T) {
	texts := map[string]string{
		"long": strings.Repeat("some text\n", 900), "word": strings.Repeat("w", longText), "quoted": strings.Repeat(": \"\u00e9 ", 900),
		"short": strings.Repeat("x\n", longText/2-1),
	}
	boxed := func(name string) map[string]*anypb.Any {
		return map[string]*anypb.Any{"a": packMessage(t, wrapperspb.String(name))}
	}
	message := func(names []string) *routev3.RouteConfiguration {
		host := &routev3.VirtualHost{Name: "host", Domains: names}
		for _, name := range names {
			host.Routes = append(host.Routes, &routev3.Route{Name: name, TypedPerFilterConfig: boxed(name)})
		}
		part := &routev3.VirtualHost{Name: "part"}
		return &routev3.RouteConfiguration{Name: names[0], VirtualHosts: []*routev3.VirtualHost{host, part, host}}
	}
	for _, names := range [][]string{{"long", "word", "long", "short", "short"}, {"word"}, {"quoted", "long", "quoted", "long"}} {
		items := func(m proto.Message, indent int) ([][]byte, bool) {
			host, is := m.(*routev3.VirtualHost)
			return [][]byte{[]byte(strings.Repeat(" ", indent) + "- name: part\n")}, is && host.Name == "part"
		}
		parts, err := MarshalWith(message(names), Placeholders{Items: items, Strings: texts})
		if err != nil {
			t.Fatal(err)
		}
		text := bytes.Join(parts, nil)
		filled := make([]string, len(names))
		for i, name := range names {
			filled[i] = texts[name]
		}
		compareMessage(t, text, message(filled))
		for once, lines := range map[string]int{"some text\n": 900, texts["word"]: 1} {
			if got := bytes.Count(text, []byte(once)); got != 0 && got != lines || !bytes.Contains(text, []byte("*text1\n")) {
				t.Errorf("%v: %.10q stands there %d times, not %d", names, once, got, lines)
			}
		}
	}
}

// compareMessage reads text as another message of the type of one, to which it must be equal.
func compareMessage(t *testing.T, text []byte, want proto.Message) {
	t.Helper()
	got := want.ProtoReflect().New().Interface()
	asJSON, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = protojson.Unmarshal(asJSON, got)
	}
	if err != nil || !proto.Equal(want, got) {
		t.Errorf("it reads as another message, or not at all: %v", err)
	}
}

// TestStructs writes metadata, which routes have their session policies in.
func TestStructs(t *testing.T) {
	for _, s := range append(strangeStrings, `[{"scope":"a/b","it's":"#:-,?!&*%@`+"`"+`\\u00e9"}]`, `{"a":[]}`, "{", "[", "[é]", "[a b]") {
		for _, fields := range []map[string]any{
			{"policies": s},
			{"b": s, "a10": map[string]any{"c": s, "empty": map[string]any{}}, "a9": 1.5, "list": []any{s}, "yes": true, "none": nil},
		} {
			of, err := structpb.NewStruct(fields)
			if err != nil {
				continue // not UTF-8
			}
			metadata := &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"limpet": of, "z": {}}}
			compareWithLibrary(t, &routev3.Route{Metadata: metadata})
			if isKey(s) {
				compareWithLibrary(t, &routev3.Route{Metadata: &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"x": {Fields: map[string]*structpb.Value{s: structpb.NewStringValue(s)}}}}})
			}
		}
	}
}

// TestSpecial writes the messages whose JSON is their own.
func TestSpecial(t *testing.T) {
	for _, m := range []proto.Message{
		durationpb.New(0), durationpb.New(2e9), durationpb.New(25e7), durationpb.New(-3e9), wrapperspb.UInt32(0), wrapperspb.UInt32(7),
		wrapperspb.UInt64(1 << 60), wrapperspb.Bool(false), wrapperspb.Double(0.1), wrapperspb.Double(1e20), wrapperspb.Double(-0.5), wrapperspb.Double(3),
		wrapperspb.String("a b"), wrapperspb.Bytes([]byte("\xff\xfe")), structpb.NewStringValue("yes"), structpb.NewNullValue(),
		&structpb.Struct{}, &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1.5)}})}},
		&routev3.FilterConfig{Config: &anypb.Any{}}, &bootstrapv3.Bootstrap{},
	} {
		compareWithLibrary(t, packMessage(t, m))
		compareWithLibrary(t, &corev3.TypedExtensionConfig{Name: "a", TypedConfig: packMessage(t, packMessage(t, m))})
	}
	compareWithLibrary(t, &bootstrapv3.Bootstrap{})
}

// TestMessages writes random messages of the types that make up a configuration.
func TestMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, m := range []proto.Message{&bootstrapv3.Bootstrap{}, &routev3.RouteConfiguration{}, &clusterv3.Cluster{}} {
		for range 60 {
			filled := m.ProtoReflect().New()
			fillMessage(filled, random, 6)
			compareWithLibrary(t, filled.Interface())
		}
	}
}

// fillMessage sets a few fields of a message at random.
func fillMessage(m protoreflect.Message, random *rand.Rand, depth int) {
	switch m := m.Interface().(type) {
	case *anypb.Any:
		_ = m.MarshalFrom(&routev3.FilterConfig{IsOptional: random.IntN(2) == 0, Config: &anypb.Any{}})
		return
	case *durationpb.Duration:
		m.Seconds, m.Nanos = random.Int64N(9), []int32{0, 0, 5e8, 7}[random.IntN(4)]
		return
	case *structpb.Struct:
		m.Fields = map[string]*structpb.Value{strangeStrings[random.IntN(len(strangeStrings))]: structpb.NewNumberValue(random.NormFloat64())}
		return
	}
	fields := m.Descriptor().Fields()
	for range min(fields.Len(), 4) {
		f := fields.Get(random.IntN(fields.Len()))
		if f.Message() != nil && (depth == 0 || f.Message().FullName() == "google.protobuf.Value") {
			continue
		}
		switch {
		case f.IsMap():
			if f.MapKey().Kind() == protoreflect.StringKind {
				for range 1 + random.IntN(3) {
					key := strangeStrings[random.IntN(len(strangeStrings))]
					if !isKey(key) {
						continue
					}
					m.Mutable(f).Map().Set(protoreflect.ValueOfString(key).MapKey(), randomValue(m.NewField(f).Map().NewValue(), f.MapValue(), random, depth))
				}
			}
		case f.IsList():
			for range 1 + random.IntN(2) {
				m.Mutable(f).List().Append(randomValue(m.NewField(f).List().NewElement(), f, random, depth))
			}
		default:
			m.Set(f, randomValue(m.NewField(f), f, random, depth))
		}
	}
}

// randomValue gives a random value for a field.
func randomValue(empty protoreflect.Value, f protoreflect.FieldDescriptor, random *rand.Rand, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.MessageKind:
		fillMessage(empty.Message(), random, depth-1)
		return empty
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strangeStrings[random.IntN(len(strangeStrings))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(strangeStrings[random.IntN(len(strangeStrings))]))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(random.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(random.IntN(5)))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(random.Uint32())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(random.Uint64())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(random.Int32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(-random.Int64())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(random.Float32())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(random.NormFloat64())
	}
	return empty
}

// TestRefusals are what protojson refuses too.
func TestRefusals(t *testing.T) {
	for _, m := range []proto.Message{
		&routev3.Route{Name: "\xff"},
		&anypb.Any{TypeUrl: "type.googleapis.com/no.such.Type", Value: []byte("a")},
		&routev3.Route{TypedPerFilterConfig: map[string]*anypb.Any{strings.Repeat("k", 200): {}}},
	} {
		if text, err := Marshal(m); err == nil {
			t.Errorf("no error; got\n%s", text)
		}
	}
}

// TestOrder holds the order of keys to the library's.
func TestOrder(t *testing.T) {
	for _, keys := range [][]string{{"b", "a"}, {"a_b", "a", "ab"}, {"a10", "a9", "a", "B"}, {"http2", "http", "http_x", "https"}, {"x.y", "x/y", "x-y", "x"}} {
		mapping := map[string]int{}
		for _, k := range keys {
			mapping[k] = 0
		}
		text, err := yaml.Marshal(mapping)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(sortKeys(slices.Clone(keys)), ": 0\n") + ": 0\n"; got != string(text) {
			t.Errorf("got\n%s\nwant\n%s", got, text)
		}
	}
}
