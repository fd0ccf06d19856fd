package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoygateway"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// TestFields holds that fields.md has every field that the compiler reads, what becomes of it on each target, and, for limpet's own
// kinds, what it means.
func TestFields(t *testing.T) {
	page := string(read(t, "fields.md"))
	for heading, table := range map[string]string{"limpet's own kinds": listOwnFields(t), "kinds of others": listOthersFields()} {
		page = fill(t, page, "fields of "+heading, table)
	}
	wantPage(t, "fields.md", page)
}

// listOwnFields gives a table for each of limpet's own kinds, from the comments on the Go types as the CRDs have them.
func listOwnFields(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, text := range api.CRDs() {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		w := fieldWriter{kind: crd.Spec.Names.Kind, fields: resource.SupportedFields()[crd.Spec.Names.Kind]}
		fmt.Fprintf(&b, "\n### %s\n\n| field of `spec` | values | meaning |", w.kind)
		if w.fields != nil {
			b.WriteString(" Envoy Gateway | Istio |\n|---|---|---|---|---|\n")
		} else {
			b.WriteString("\n|---|---|---|\n")
		}
		w.write(&b, "", crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
		if w.rows < 20 || w.known != len(w.fields)-2*w.blocks {
			t.Errorf("%s: %d rows, %d of %d fields that the compiler reads", w.kind, w.rows, w.known, len(w.fields))
		}
	}
	return b.String() + "\n"
}

// fieldWriter writes the rows of a kind of limpet's own.
type fieldWriter struct {
	kind                string
	fields              support.Fields
	rows, known, blocks int // rows; those that the compiler reads; those that stand in default and override too
}

// write gives a row to each field below a path. Deeper than two fields ProxyConfigs have types of Kubernetes' own.
func (w *fieldWriter) write(b *strings.Builder, at string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		path, s := strings.TrimPrefix(at+"."+name, "."), schema.Properties[name]
		if at == "" && (name == "default" || name == "override") {
			fmt.Fprintf(b, "| `%s` | object | %s |  |  |\n", path, meaning(name, s))
			continue
		}
		below, item := path, &s
		if s.Items != nil {
			below, item = path+"[]", s.Items.Schema
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |", path, values(&s), meaning(name, s))
		w.rows++
		if w.fields != nil {
			fmt.Fprintf(b, " %s |\n", w.answers(path, s.Items != nil))
		} else {
			b.WriteString("\n")
		}
		if at == "" || w.fields != nil {
			w.write(b, below, *item)
		}
	}
}

// answers are the two control planes' for a field that the compiler reads; for one that holds others the cells are empty.
func (w *fieldWriter) answers(path string, list bool) string {
	path = "spec." + path
	if _, read := w.fields[path]; !read && list {
		path += "[]"
	}
	if _, read := w.fields[path]; !read {
		return " | "
	}
	w.known++
	if _, again := w.fields[strings.Replace(path, "spec.", "spec.default.", 1)]; again {
		w.blocks++
	}
	return describeAnswer(envoygateway.Capabilities, w.kind, path) + " | " + describeAnswer(istio.Capabilities, w.kind, path)
}

// meaning is a field's comment in one line, in which the field has its name in YAML.
func meaning(name string, s apiextensionsv1.JSONSchemaProps) string {
	text := strings.Join(strings.Fields(s.Description), " ")
	if first, rest, _ := strings.Cut(text, " "); strings.EqualFold(first, name) {
		text = "`" + name + "` " + rest
	}
	return strings.ReplaceAll(text, "|", "\\|")
}

// values are a field's type and limits.
func values(s *apiextensionsv1.JSONSchemaProps) string {
	text := s.Type
	switch {
	case s.XIntOrString:
		text = "number or text"
	case s.Items != nil:
		text = "list: " + values(s.Items.Schema)
		if s.MaxItems != nil {
			text = fmt.Sprintf("up to %d: %s", *s.MaxItems, values(s.Items.Schema))
		}
	case len(s.Enum) > 8:
		text = "a name of a field"
	case len(s.Enum) > 0:
		var names []string
		for _, e := range s.Enum {
			names = append(names, "`"+strings.Trim(string(e.Raw), `"`)+"`")
		}
		text = strings.Join(names, ", ")
	case s.Minimum != nil && s.Maximum != nil:
		text = fmt.Sprintf("%.0f to %.0f", *s.Minimum, *s.Maximum)
	case strings.HasPrefix(s.Pattern, "^([0-9]{1,5}(h|m|s|ms)"):
		text = "duration"
	case s.Type == "string" && s.MaxLength != nil:
		text = fmt.Sprintf("string, %d at most", *s.MaxLength)
	}
	return text
}

// listOthersFields gives a table for each kind that is not limpet's: the fields by what becomes of them.
func listOthersFields() string {
	var b strings.Builder
	all := resource.SupportedFields()
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if kind == "SessionPersistencePolicy" || kind == "LoadBalancerPolicy" {
			continue
		}
		fields := map[string][]string{}
		for _, path := range slices.Sorted(maps.Keys(all[kind])) {
			answers := describeSupport(all[kind][path]) + " | " + describeAnswer(envoygateway.Capabilities, kind, path) + " | " +
				describeAnswer(istio.Capabilities, kind, path)
			fields[answers] = append(fields[answers], "`"+path+"`")
		}
		fmt.Fprintf(&b, "\n### %s\n\n| on a plain Envoy | on Envoy Gateway | on Istio | fields |\n|---|---|---|---|\n", kind)
		for _, answers := range slices.SortedFunc(maps.Keys(fields), yesFirst) {
			fmt.Fprintf(&b, "| %s | %s |\n", answers, strings.Join(fields[answers], ", "))
		}
	}
	return b.String() + "\n"
}

// yesFirst puts what a plain Envoy has without limits before the rest.
func yesFirst(a, b string) int {
	if yes := strings.HasPrefix(a, "yes "); yes != strings.HasPrefix(b, "yes ") {
		return map[bool]int{true: -1, false: 1}[yes]
	}
	return strings.Compare(a, b)
}

// TestFieldsOfBlocks holds that a policy's field has one answer on a target, in whichever block it is written.
func TestFieldsOfBlocks(t *testing.T) {
	const kind = "SessionPersistencePolicy"
	blocks := 0
	for path := range resource.SupportedFields()[kind] {
		plain := strings.Replace(strings.Replace(path, "spec.default.", "spec.", 1), "spec.override.", "spec.", 1)
		if plain == path {
			continue
		}
		blocks++
		for name, d := range map[string]capability.Declaration{"envoy-gateway": envoygateway.Capabilities, "istio": istio.Capabilities} {
			if got, want := describeAnswer(d, kind, path), describeAnswer(d, kind, plain); got != want {
				t.Errorf("%s, %s: %s, and %s of %s", name, path, got, want, plain)
			}
		}
	}
	if blocks < 50 {
		t.Errorf("%d fields in blocks", blocks)
	}
}

// passedOver are the kinds that a control plane's users write for it alone.
var passedOver = []string{"BackendTLSPolicy", "ConfigMap", "ExtensionService", "ListenerSet", "TCPRoute", "TLSRoute", "UDPRoute"}

// ownKinds are those that no control plane reads: targets.md has what is not answered for a field.
var ownKinds = []string{"LoadBalancerPolicy", "SessionPersistencePolicy", "XBackend", "XBackendTrafficPolicy"}

// describeAnswer is what a control plane's target does with a field: what its emitter declares. Everything else in the objects that
// control planes read is theirs.
func describeAnswer(d capability.Declaration, kind, path string) string {
	feature := strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "rules[].")
	for _, block := range []string{"default.", "override."} { // a field is the same in each block
		feature = strings.TrimPrefix(feature, block)
	}
	answer, declared := d.Answer(kind + " " + feature)
	for at := 0; !declared && at >= 0; { // what is declared for a field holds for those below it
		at = strings.LastIndexByte(feature, '.')
		feature = feature[:max(at, 0)]
		answer, declared = d.Answer(kind + " " + feature)
	}
	whole, ofKind := d.Answer("across " + kind)
	switch {
	case declared:
		return string(answer.Support)
	case ofKind && whole.Support == capability.No:
		return string(whole.Support)
	case slices.Contains(passedOver, kind):
		return "passed over"
	case slices.Contains(ownKinds, kind):
		return "[targets.md](targets.md)"
	default:
		return string(capability.Theirs)
	}
}

func describeSupport(s support.Field) string {
	switch {
	case s.Ignored != "":
		if why := s.Ignored; strings.HasPrefix(why, "the ") || strings.HasPrefix(why, "on ") || strings.HasPrefix(why, "it ") {
			return "no effect: " + why
		}
		return "no effect: it " + s.Ignored
	case s.Only != nil:
		var values []string
		for _, v := range s.Only {
			values = append(values, fmt.Sprintf("`%v`", v))
		}
		return strings.Join(values, ", ") + " alone"
	default:
		return "yes"
	}
}
