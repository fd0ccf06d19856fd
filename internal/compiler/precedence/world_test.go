package precedence

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
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// documentSet is what a caller of this package makes of documents.
type documentSet struct {
	index          Index
	inline         map[object.TargetRef]SettingsBlock             // by route and the rule's name, or # and its index
	inlineSessions map[object.TargetRef]*sessionapi.InlineSession // the same
}

// readDocumentSet reads documents, each of which must be one that passes Check.
func readDocumentSet(t *testing.T, text []byte) *documentSet {
	t.Helper()
	w := &documentSet{index: Index{}, inline: map[object.TargetRef]SettingsBlock{}, inlineSessions: map[object.TargetRef]*sessionapi.InlineSession{}}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		obj := map[string]any{}
		if err := yaml.Unmarshal(doc, &obj); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		origin := readOrigin(t, obj)
		spec, _ := obj["spec"].(map[string]any)
		switch origin.Kind {
		case "SessionPersistencePolicy":
			w.addPolicy(t, origin, doc)
		case object.KindHTTPRoute, object.KindGRPCRoute:
			w.addRoute(t, origin, spec)
		case object.KindXBackend:
			w.addInline(t, origin, InlineXBackend, []any{map[string]any{"kind": object.KindXBackend, "name": origin.Name}}, spec)
		case "XBackendTrafficPolicy":
			refs, _ := spec["targetRefs"].([]any)
			w.addInline(t, origin, BackendTraffic, refs, spec)
		default:
			t.Fatalf("%s: not a kind of these tests", origin)
		}
	}
	return w
}

func readOrigin(t *testing.T, obj map[string]any) object.Origin {
	t.Helper()
	meta, _ := obj["metadata"].(map[string]any)
	s := object.Origin{Ref: object.Ref{Kind: fmt.Sprint(obj["kind"]), Namespace: fmt.Sprint(meta["namespace"]), Name: fmt.Sprint(meta["name"])}}
	if stamp, ok := meta["creationTimestamp"].(string); ok {
		created, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			t.Fatal(err)
		}
		s.Created = created
	}
	return s
}

func (w *documentSet) addPolicy(t *testing.T, origin object.Origin, doc []byte) {
	t.Helper()
	var p v1alpha1.SessionPersistencePolicy
	if err := yaml.UnmarshalStrict(doc, &p); err != nil {
		t.Fatal(err)
	}
	for _, a := range ListTargets(origin.Namespace, &p.Spec) {
		w.addBlocks(t, PolicyBlocks(origin, a.Target, &p.Spec)...)
	}
}

func (w *documentSet) addBlocks(t *testing.T, blocks ...SettingsBlock) {
	t.Helper()
	for _, b := range blocks {
		if errs := CheckBlock(b); len(errs) > 0 {
			t.Fatalf("%s: %v", b.Origin, errs)
		}
	}
	for _, b := range blocks {
		w.index.Add(b.Target, []SettingsBlock{b})
	}
}

func (w *documentSet) addRoute(t *testing.T, origin object.Origin, spec map[string]any) {
	t.Helper()
	rules, _ := spec["rules"].([]any)
	for i, r := range rules {
		rule, _ := r.(map[string]any)
		section, named := rule["name"].(string)
		if !named {
			section = "#" + strconv.Itoa(i)
		}
		target := object.TargetRef{Ref: origin.Ref, Section: section}
		if sp, ok := rule["sessionPersistence"].(map[string]any); ok {
			path := field.NewPath("spec", "rules").Index(i).Child("sessionPersistence")
			inline := readInline(t, sp, path)
			w.inlineSessions[target] = inline
			w.inline[target] = FromInline(inline, InlineRule, origin, target, path.String())
		}
	}
}

// addInline adds what stands in an XBackend or an XBackendTrafficPolicy.
func (w *documentSet) addInline(t *testing.T, origin object.Origin, level Level, refs []any, spec map[string]any) {
	t.Helper()
	block := SettingsBlock{Level: level, Origin: origin, Path: "spec"}
	if sp, ok := spec["sessionPersistence"].(map[string]any); ok {
		path := field.NewPath("spec", "sessionPersistence")
		block = FromInline(readInline(t, sp, path), level, origin, object.TargetRef{}, path.String())
	}
	for _, r := range refs {
		ref := r.(map[string]any)
		block.Target = object.TargetRef{Ref: object.Ref{Kind: fmt.Sprint(ref["kind"]), Namespace: origin.Namespace, Name: fmt.Sprint(ref["name"])}}
		w.addBlocks(t, block)
	}
}

func readInline(t *testing.T, fields map[string]any, path *field.Path) *sessionapi.InlineSession {
	t.Helper()
	inline, errs := sessionapi.ReadInline(fields, path)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return inline
}

// mergeOn gives what is effective on a path, with the rule's own block.
func (w *documentSet) mergeOn(trafficPath TrafficPath) Effective {
	blocks := w.index.BlocksOn(trafficPath)
	if b, ok := w.inline[object.TargetRef{Ref: trafficPath.Route, Section: trafficPath.Rule}]; ok {
		blocks = append(blocks, b)
	}
	return Merge(blocks)
}

// parseTrafficPath reads words such as gateway=infra/web/https route=HTTPRoute/shop/cart/checkout backends=Service/shop/cart,
// all of which have defaults but the rule's name.
func parseTrafficPath(t *testing.T, line string) TrafficPath {
	t.Helper()
	trafficPath := TrafficPath{
		Class: "limpet", Gateway: object.Ref{Kind: object.KindGateway, Namespace: "infra", Name: "web"}, Listener: "http",
		Route: object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}, Backends: []object.TargetRef{{Ref: object.Ref{Kind: object.KindService, Namespace: "shop", Name: "cart"}}},
	}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		parts := append(strings.Split(value, "/"), "", "", "")
		switch name {
		case "class":
			trafficPath.Class = value
		case "gateway":
			trafficPath.Gateway, trafficPath.Listener = object.Ref{Kind: object.KindGateway, Namespace: parts[0], Name: parts[1]}, parts[2]
		case "route":
			trafficPath.Route, trafficPath.Rule = object.Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, parts[3]
		case "backends":
			trafficPath.Backends = nil
			for _, b := range strings.Split(value, ",") {
				p := append(strings.Split(b, "/"), "")
				trafficPath.Backends = append(trafficPath.Backends, object.TargetRef{Ref: object.Ref{Kind: p[0], Namespace: p[1], Name: p[2]}, Section: p[3]})
			}
		default:
			t.Fatalf("%q: not a word of these tests", word)
		}
	}
	return trafficPath
}

// dumpEffective writes an outcome for people to review.
func dumpEffective(e *Effective) string {
	var b strings.Builder
	if e.On {
		fmt.Fprintf(&b, "on by %s\n", formatOrigin(e.TurnedOnBy))
	} else {
		b.WriteString("off\n")
	}
	for _, f := range e.Fields {
		if f.Level == BuiltIn && len(f.Overrides) == 0 && f.Name != fieldType && f.Name != fieldDisabled {
			continue
		}
		fmt.Fprintf(&b, "%s: %s by %s\n", f.Name, f.Text, formatOrigin(f.FieldValue))
		for _, w := range f.Overrides {
			fmt.Fprintf(&b, "  overrides %s by %s\n", w.Text, formatOrigin(w))
		}
	}
	for _, d := range e.Ignored {
		fmt.Fprintf(&b, "dropped by %s from %s: %s\n", d.Rule, d.Origin, d.Message())
	}
	for _, c := range e.Conflicts {
		verdict := "conflicted"
		if c.OtherTarget {
			verdict = "partial"
		}
		fmt.Fprintf(&b, "%s on %d: %s: %s\n", verdict, c.Level, c.Loser, c.Message())
	}
	return b.String()
}

func formatOrigin(w FieldValue) string {
	if w.Level == BuiltIn {
		return "28 " + BuiltIn.String()
	}
	return fmt.Sprintf("%d %s: %s %s", w.Level, w.Level, w.Origin, w.Path)
}
