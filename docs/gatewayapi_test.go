package docs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/capability"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoygateway"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/istio"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// The lines between which gateway-api.md is made from what the compiler supports.
const fieldsBegin, fieldsEnd = "<!-- fields -->\n", "<!-- end of fields -->\n"

// TestFieldsOfGatewayAPI holds that gateway-api.md has every field that the compiler reads, and what it does with it.
func TestFieldsOfGatewayAPI(t *testing.T) {
	page, err := os.ReadFile("gateway-api.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), fieldsBegin)
	_, after, ends := strings.Cut(rest, fieldsEnd)
	if !found || !ends {
		t.Fatal("docs/gateway-api.md has no place for its tables")
	}
	written := before + fieldsBegin + listFields() + fieldsEnd + after
	if *update {
		if err := os.WriteFile("gateway-api.md", []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if written != string(page) {
		t.Error("docs/gateway-api.md is stale: 'go test ./docs -update' writes it again")
	}
}

// listFields gives a table for each kind.
func listFields() string {
	var b strings.Builder
	all := resource.SupportedFields()
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "\n### %s\n\n| field | on a plain Envoy | on Envoy Gateway | on Istio |\n|---|---|---|---|\n", kind)
		for _, path := range slices.Sorted(maps.Keys(all[kind])) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", path, describeSupport(all[kind][path]),
				describeAnswer(envoygateway.Capabilities, kind, path), describeAnswer(istio.Capabilities, kind, path))
		}
	}
	return b.String() + "\n"
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
