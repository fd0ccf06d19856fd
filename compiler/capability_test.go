package compiler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/internal/compiler/capability"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// settingsOfRules are the parts of a rule that say how its requests are treated, not which and by whom.
var settingsOfRules = []string{"sessionPersistence", "timeouts", "retry"}

// listFeatures lists every feature: the fields of the plugin configuration's schema, of our CRDs, the settings of rules and
// the session persistence that stands inline in other kinds of Gateway API, and what spans more than one field.
func listFeatures(t *testing.T) []string {
	t.Helper()
	all := []string{"across a cookie path for each match of a rule", "across a session header on a rule with CORS", "across split, one session (up to 1.6)", "across split, a session for each backend", "across onHostLost RebalanceWithin in a split", "across scope Route of a rule with one backend and a split", "across XBackend", "across HTTPProxy", "GRPCRoute sessionPersistence"}
	all = append(all, pluginFeatures(t)...)
	for _, text := range api.CRDs() {
		if !bytes.Contains(text, []byte("kind: ProxyConfig\n")) { // that is how limpet serve runs proxies: package proxies tests it
			all = append(all, crdFeatures(t, text)...)
		}
	}
	for path := range resource.SupportedFields()["HTTPRoute"] {
		if field := strings.TrimPrefix(path, "spec.rules[]."); slices.Contains(settingsOfRules, strings.Split(field, ".")[0]) {
			all = append(all, "HTTPRoute "+field)
		}
	}
	for path := range resource.SupportedFields()["XBackendTrafficPolicy"] {
		if field := strings.Split(path, ".")[1]; !strings.HasPrefix(field, "targetRefs") {
			all = append(all, "XBackendTrafficPolicy "+field)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// node is a part of a JSON schema, with references resolved.
type node = map[string]any

func pluginFeatures(t *testing.T) []string {
	text, err := os.ReadFile(filepath.Join("..", "policy-config", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return listLeaves("plugin ", root, root["$defs"].(node))
}

func crdFeatures(t *testing.T, text []byte) []string {
	var crd node
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd["spec"].(node)
	versions := spec["versions"].([]any)
	root := versions[0].(node)["schema"].(node)["openAPIV3Schema"].(node)["properties"].(node)["spec"].(node)
	properties := root["properties"].(node)
	for _, block := range []string{"default", "override", "targetRef"} { // their fields are those of the spec, or of targetRefs
		if b, has := properties[block].(node); has {
			delete(b, "properties")
		}
	}
	return listLeaves(spec["names"].(node)["kind"].(string)+" ", root, nil)
}

// listLeaves gives the paths of the values below a node.
func listLeaves(path string, n, defs node) []string {
	if ref, is := n["$ref"].(string); is {
		n = defs[strings.TrimPrefix(ref, "#/$defs/")].(node)
	}
	if items, is := n["items"].(node); is {
		return listLeaves(path+"[]", items, defs)
	}
	properties, _ := n["properties"].(node)
	if len(properties) == 0 {
		return []string{path}
	}
	if !strings.HasSuffix(path, " ") {
		path += "."
	}
	var all []string
	for name, p := range properties {
		all = append(all, listLeaves(path+name, p.(node), defs)...)
	}
	return all
}

// declaringEmitters are the targets that declare what they can do.
func declaringEmitters() []emitter {
	return slices.DeleteFunc(slices.Clone(emitters), func(e emitter) bool { return e.capabilities == nil })
}

// TestCapabilities holds every declaration to what the emitter does.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	all := listFeatures(t)
	if len(all) < 90 {
		t.Fatalf("found %d features only", len(all))
	}
	for _, e := range declaringEmitters() {
		for feature := range e.capabilities {
			if !slices.Contains(all, feature) {
				t.Errorf("%s declares %q, which is no feature", e.target, feature)
			}
		}
		for _, feature := range all {
			answer, has := e.capabilities.Answer(feature)
			switch {
			case !has:
				t.Errorf("%s declares nothing about %q", e.target, feature)
			case answer.Support != capability.Yes && answer.Note == "":
				t.Errorf("%s says %s of %q and not why", e.target, answer.Support, feature)
			case answer.Support == capability.Fixed:
				checkFixed(t, e, feature)
			default:
				checkProbe(t, e, feature, answer)
			}
		}
	}
}

// checkProbe compiles what asks for a feature and the same without.
func checkProbe(t *testing.T, e emitter, feature string, answer capability.Answer) {
	p, has := probeFor(feature)
	if !has {
		t.Errorf("%q has no probe", feature)
		return
	}
	effectless := answer.Support == capability.No || answer.Support == capability.Theirs
	if answer.Support == capability.No { // then two ways to ask for it may be reported alike
		p.off = ""
	}
	off, on := e.runProbe(t, feature, p.off, p.withoutOptions(), false), e.runProbe(t, feature, p.on, p, false)
	added := findNewWarnings(off, on)
	switch effect := !bytes.Equal(off.files, on.files); {
	case answer.Support == capability.No && len(added) == 0:
		t.Errorf("%s: %q is declared as not supported, and nothing says so:\n%s", e.target, feature, on.warnings)
	case answer.Support == capability.No && e.runProbe(t, feature, p.on, p, true).refused == "":
		t.Errorf("%s: a strict compilation takes %q, which is declared as not supported", e.target, feature)
	case (answer.Support == capability.Yes || answer.Support == capability.Theirs) && len(added) > 0:
		t.Errorf("%s: %q is declared as supported, and the report says %q", e.target, feature, added)
	case answer.Support == capability.Theirs && effect:
		t.Errorf("%s: %q is declared as the control plane's affair, and has an effect on the files", e.target, feature)
	case !effectless && !effect:
		t.Errorf("%s: %q has no effect on the files\n%s", e.target, feature, on.warnings)
	}
}

// probeResult is what a compilation of a probe gave.
type probeResult struct {
	files    []byte
	plugin   []byte
	warnings string
	refused  string
}

func (e emitter) runProbe(t *testing.T, feature, documents string, options probe, strict bool) probeResult {
	t.Helper()
	base, err := os.ReadFile(filepath.Join("testdata", "capabilities.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	controller := cmp.Or(string(e.controller), "limpet.dev/gateway-controller")
	text := strings.Replace(string(base), "CONTROLLER", controller, 1) + documents
	o := optionsFor(e.target)
	o.Keys, o.Strict = options.keys, strict
	o.AccessLog, o.SessionDigest, o.DebugTickets = options.telemetry.AccessLog, options.telemetry.SessionDigest, options.telemetry.DebugTickets
	result, err := Compile([]Source{{Name: "in.yaml", Data: []byte(text)}}, o)
	var problems Errors
	if errors.As(err, &problems) && strict {
		return probeResult{refused: problems.Error()}
	}
	if err != nil {
		t.Fatalf("%s: the probe of %q: %v\n%s", e.target, feature, err, documents)
	}
	var files []byte
	for _, f := range result.Files {
		files = append(files, f.Data...)
	}
	return probeResult{files: files, plugin: result.PluginJSON, warnings: warningText(result.Warnings)}
}

// findNewWarnings gives the lines about what is not supported that are in one report and not in the other.
func findNewWarnings(off, on probeResult) []string {
	var found []string
	for line := range strings.Lines(on.warnings) {
		if strings.Contains(line, "not supported") && !strings.HasPrefix(line, "(advice)") && !strings.Contains(off.warnings, line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// checkFixed compares what was written with the default.
func checkFixed(t *testing.T, e emitter, feature string) {
	defaults, err := policyconfig.Marshal(policyconfig.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(feature, "plugin ")
	got := e.runProbe(t, feature, documentText("SessionPersistencePolicy", "p", target1), probe{}, false)
	if want := gjson.GetBytes(defaults, path); gjson.GetBytes(got.plugin, path).String() != want.String() {
		t.Errorf("%s: %s is %s, not the default %s", e.target, path, gjson.GetBytes(got.plugin, path), want)
	}
}

// TestTargetsDocument holds docs/targets.md to the declarations.
func TestTargetsDocument(t *testing.T) {
	compareFile(t, filepath.Join("..", "docs", "targets.md"), targetsDocument(t))
}

const targetsIntroduction = `# Targets

For who compares targets: what each one of ` + "`limpet compile -t`" + ` does with each feature. This page is written from what the emitters declare
(` + "`go test ./compiler -run TestTargetsDocument -update`" + `), and a test holds every line to what they do: a *yes* changes the
target's files, a *no* is in the report and is refused with ` + "`--strict`" + `.

- **yes**: what is asked for holds.
- **differs**: it holds, but not as on a plain Envoy, or there not to the letter.
- **theirs**: the target's control plane reads it in your documents, and limpet adds nothing to that.
- **no**: it has no effect, and a warning names the object and the field.
- **fixed**: the compiler writes the default, and no input asks for anything else.

The target ` + "`plugin`" + ` writes the filter's configuration alone; what else it needs of Envoy is yours. The native filter
([native.md](native.md)) is the same engine: what is said here holds for it too, on a plain Envoy, Envoy Gateway and Istio.
`

func targetsDocument(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString(targetsIntroduction)
	section := ""
	for _, feature := range listFeatures(t) {
		head, name, _ := strings.Cut(feature, " ")
		if head != section {
			section = head
			b.WriteString(tableHead(cmp.Or(sectionTitles[head], head)))
		}
		fmt.Fprintf(&b, "| `%s` |", name)
		for _, e := range declaringEmitters() {
			answer, _ := e.capabilities.Answer(feature)
			fmt.Fprintf(&b, " %s |", formatCell(answer))
		}
		b.WriteString("\n")
	}
	return b.Bytes()
}

var sectionTitles = map[string]string{"across": "Splits and kinds", "plugin": "Plugin configuration"}

func tableHead(section string) string {
	head, line := "\n## "+section+"\n\n| |", "|---|"
	for _, e := range declaringEmitters() {
		head += " " + string(e.target) + " |"
		line += "---|"
	}
	return head + "\n" + line + "\n"
}

func formatCell(a capability.Answer) string {
	if a.Note == "" {
		return string(a.Support)
	}
	return "**" + string(a.Support) + "**: " + a.Note
}
