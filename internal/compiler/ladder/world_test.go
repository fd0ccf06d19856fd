package ladder

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// world is what a caller of this package makes of documents.
type world struct {
	index  Index
	inline map[Target]Block   // by route and the rule's name, or # and its index
	shown  map[Target]*Inline // the same
}

// newWorld reads documents, each of which must be one that passes Check.
func newWorld(t *testing.T, text []byte) *world {
	t.Helper()
	w := &world{index: Index{}, inline: map[Target]Block{}, shown: map[Target]*Inline{}}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		obj := map[string]any{}
		if err := yaml.Unmarshal(doc, &obj); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		source := sourceOf(t, obj)
		spec, _ := obj["spec"].(map[string]any)
		switch source.Kind {
		case "SessionPersistencePolicy":
			w.addPolicy(t, source, doc)
		case KindHTTPRoute, KindGRPCRoute:
			w.addRoute(t, source, spec)
		case KindXBackend:
			w.addInline(t, source, InlineXBackend, []any{map[string]any{"kind": KindXBackend, "name": source.Name}}, spec)
		case "XBackendTrafficPolicy":
			refs, _ := spec["targetRefs"].([]any)
			w.addInline(t, source, BackendTraffic, refs, spec)
		default:
			t.Fatalf("%s: not a kind of these tests", source)
		}
	}
	return w
}

func sourceOf(t *testing.T, obj map[string]any) Source {
	t.Helper()
	meta, _ := obj["metadata"].(map[string]any)
	s := Source{Object: Object{Kind: fmt.Sprint(obj["kind"]), Namespace: fmt.Sprint(meta["namespace"]), Name: fmt.Sprint(meta["name"])}}
	if stamp, ok := meta["creationTimestamp"].(string); ok {
		created, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			t.Fatal(err)
		}
		s.Created = created
	}
	return s
}

func (w *world) addPolicy(t *testing.T, source Source, doc []byte) {
	t.Helper()
	var p v1alpha1.SessionPersistencePolicy
	if err := yaml.UnmarshalStrict(doc, &p); err != nil {
		t.Fatal(err)
	}
	for _, a := range Targets(source.Namespace, &p.Spec) {
		w.add(t, PolicyBlocks(source, a.Target, &p.Spec)...)
	}
}

func (w *world) add(t *testing.T, blocks ...Block) {
	t.Helper()
	for _, b := range blocks {
		if errs := Check(b); len(errs) > 0 {
			t.Fatalf("%s: %v", b.Source, errs)
		}
	}
	for _, b := range blocks {
		w.index.Add(b.Target, []Block{b})
	}
}

func (w *world) addRoute(t *testing.T, source Source, spec map[string]any) {
	t.Helper()
	rules, _ := spec["rules"].([]any)
	for i, r := range rules {
		rule, _ := r.(map[string]any)
		section, named := rule["name"].(string)
		if !named {
			section = "#" + strconv.Itoa(i)
		}
		target := Target{source.Object, section}
		if sp, ok := rule["sessionPersistence"].(map[string]any); ok {
			path := field.NewPath("spec", "rules").Index(i).Child("sessionPersistence")
			inline := readInline(t, sp, path)
			w.shown[target] = inline
			w.inline[target] = inline.Block(InlineRule, source, target, path.String())
		}
	}
}

// addInline adds what stands in an XBackend or an XBackendTrafficPolicy.
func (w *world) addInline(t *testing.T, source Source, rung Rung, refs []any, spec map[string]any) {
	t.Helper()
	block := Block{Rung: rung, Source: source, Path: "spec"}
	if sp, ok := spec["sessionPersistence"].(map[string]any); ok {
		path := field.NewPath("spec", "sessionPersistence")
		block = readInline(t, sp, path).Block(rung, source, Target{}, path.String())
	}
	for _, r := range refs {
		ref := r.(map[string]any)
		block.Target = Target{Object: Object{fmt.Sprint(ref["kind"]), source.Namespace, fmt.Sprint(ref["name"])}}
		w.add(t, block)
	}
}

func readInline(t *testing.T, fields map[string]any, path *field.Path) *Inline {
	t.Helper()
	inline, errs := ReadInline(fields, path)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return inline
}

// merge gives what holds on a way, with the rule's own block.
func (w *world) merge(way Way) Effective {
	blocks := w.index.On(way)
	if b, ok := w.inline[Target{way.Route, way.Rule}]; ok {
		blocks = append(blocks, b)
	}
	return Merge(blocks)
}

// parseWay reads words such as gateway=infra/web/https route=HTTPRoute/shop/cart/checkout backends=Service/shop/cart,
// all of which have defaults but the rule's name.
func parseWay(t *testing.T, line string) Way {
	t.Helper()
	way := Way{
		Class: "limpet", Gateway: Object{KindGateway, "infra", "web"}, Listener: "http",
		Route: Object{KindHTTPRoute, "shop", "cart"}, Backends: []Object{{KindService, "shop", "cart"}},
	}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		parts := append(strings.Split(value, "/"), "", "", "")
		switch name {
		case "class":
			way.Class = value
		case "gateway":
			way.Gateway, way.Listener = Object{KindGateway, parts[0], parts[1]}, parts[2]
		case "route":
			way.Route, way.Rule = Object{parts[0], parts[1], parts[2]}, parts[3]
		case "backends":
			way.Backends = nil
			for _, b := range strings.Split(value, ",") {
				p := strings.Split(b, "/")
				way.Backends = append(way.Backends, Object{p[0], p[1], p[2]})
			}
		default:
			t.Fatalf("%q: not a word of these tests", word)
		}
	}
	return way
}

// dump writes an outcome for people to review.
func dump(e *Effective) string {
	var b strings.Builder
	if e.On {
		fmt.Fprintf(&b, "on by %s\n", place(e.Origin))
	} else {
		b.WriteString("off\n")
	}
	for _, f := range e.Fields {
		if f.Rung == BuiltIn && len(f.Beats) == 0 && f.Name != fieldType && f.Name != fieldDisabled {
			continue
		}
		fmt.Fprintf(&b, "%s: %s by %s\n", f.Name, f.Text, place(f.Written))
		for _, w := range f.Beats {
			fmt.Fprintf(&b, "  beats %s by %s\n", w.Text, place(w))
		}
	}
	for _, d := range e.Dropped {
		fmt.Fprintf(&b, "dropped by %s from %s: %s\n", d.Rule, d.Source, d.Message())
	}
	for _, c := range e.Conflicts {
		verdict := "conflicted"
		if c.Elsewhere {
			verdict = "partial"
		}
		fmt.Fprintf(&b, "%s on %d: %s: %s\n", verdict, c.Rung, c.Loser, c.Message())
	}
	return b.String()
}

func place(w Written) string {
	if w.Rung == BuiltIn {
		return "22 " + BuiltIn.String()
	}
	return fmt.Sprintf("%d %s: %s %s", w.Rung, w.Rung, w.Source, w.Path)
}
