package compiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// specsBase is what the documents of specs leave out around their blocks.
const specsBase = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
`

// specs are the blocks of the designs that limpet implements, as they stand there (internal/compiler/testdata/specs), each with what completes it (pairs of
// old and new text), the Services around it, and what must come of it.
var specs = map[string]struct {
	complete []string
	around   string
	// plugin and routes are texts of the filter's configuration and of Envoy's.
	plugin, envoy []string
}{
	"gep-1619-traffic-splitting": {
		complete: specRoute,
		around:   specService("servicev1", "10.0.1.1") + specService("servicev2", "10.0.2.1"),
		plugin:   []string{`"type":"Cookie"`, `"scope":"HTTPRoute/default/split-route/`},
		envoy:    []string{"address: 10.0.1.1", "address: 10.0.2.1", "load_balancing_weight: 50"},
	},
	"gep-1619-weight-0": {
		// In this one value is beside path and not below it, and its API has nothing else than a session of the route.
		complete: append([]string{
			"    - path:\n      value:", "    - path:\n        value:", "type: HTTPCookie\n", "type: HTTPCookie\n  scope: Route\n",
		}, specRoute...),
		around: specService("servicev1", "10.0.1.1") + specService("servicev2", "10.0.2.1"),
		plugin: []string{`"type":"Cookie"`, `"scope":"HTTPRoute/default/split-route"`, `"path":"/"`},
		envoy:  []string{"path_separated_prefix: /a", "path_separated_prefix: /b", "address: 10.0.2.1"},
	},
	"gep-1619-selector": {
		complete: []string{"kind: Service\n", "apiVersion: v1\nkind: Service\n", "spec:\n", "spec:\n  ports: [{port: 80}]\n"},
		around: "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\n" +
			"spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: my-service, port: 80}], sessionPersistence: {sessionName: s}}]}\n" +
			specSlice("my-service", "10.0.1.1"),
		plugin: []string{`"sessionName":"s"`},
		envoy:  []string{"address: 10.0.1.1"},
	},
	"gep-713-section": {
		// Gateway API called forwardTo and Prefix what it calls backendRefs and PathPrefix since. The document's policy is of no kind that
		// limpet has: one of ours has its targetRef.
		complete: []string{
			"/v1alpha2", "/v1", "spec:\n", "spec:\n  parentRefs: [{name: web}]\n", "type: Prefix", "type: PathPrefix", "forwardTo:", "backendRefs:",
			"serviceName:", "name:",
		},
		around: "---\napiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: foo}\nspec:\n  targetRef:\n    name: http-app-1\n" +
			"    group: gateway.networking.k8s.io\n    kind: HTTPRoute\n    sectionName: bar\n" +
			strings.Replace(specService("my-service1", "10.0.1.1"), "port: 80}", "port: 8080}", 1),
		plugin: []string{`"scope":"HTTPRoute/default/http-app-1/rule/bar"`, `"path":"/bar"`},
		envoy:  []string{"path_separated_prefix: /bar", "foo.com", "address: 10.0.1.1"},
	},
	"contour-header-hash": {
		around: specService("example-app", "10.0.1.1"),
		envoy:  []string{"header_name: x-some-header", "terminal: true", "header_name: user-agent", "example.projectcontour.io"},
	},
}

// specRoute completes the routes and policies of GEP-1619.
var specRoute = []string{
	"kind: HTTPRoute\nmetadata", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata",
	"kind: SessionPersistencePolicy\n", "apiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\n",
	"spec:\n  rules:", "spec:\n  parentRefs: [{name: web}]\n  rules:",
	"- name: servicev1\n", "- name: servicev1\n      port: 80\n",
	"- name: servicev2\n", "- name: servicev2\n      port: 80\n",
}

func specService(name, address string) string {
	return "---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {ports: [{port: 80}]}\n" + specSlice(name, address)
}

func specSlice(service, address string) string {
	return "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: " + service + "-1, labels: {kubernetes.io/service-name: " +
		service + "}}\naddressType: IPv4\nports: [{port: 8080}]\nendpoints: [{addresses: [" + address + "]}]\n"
}

// TestSpecs compiles the blocks of the designs: nothing is refused or left out, and each comes to what its document says.
func TestSpecs(t *testing.T) {
	files, err := filepath.Glob("../internal/compiler/testdata/specs/*.yaml")
	if err != nil || len(files) != len(specs) {
		t.Fatalf("there are %d blocks, want %d (%v)", len(files), len(specs), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		c := specs[name]
		block, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.complete); i += 2 {
			if !strings.Contains(string(block), c.complete[i]) {
				t.Errorf("%s has no %q to complete", name, c.complete[i])
			}
		}
		text := specsBase + "---\n" + strings.NewReplacer(c.complete...).Replace(string(block)) + "\n" + c.around
		result, err := Compile([]Source{{Name: "in.yaml", Data: []byte(text)}}, optionsFor(TargetEnvoy))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range result.Warnings {
			if !w.Advice {
				t.Errorf("%s: %s", name, w)
			}
		}
		checkHas(t, name+": the filter's configuration", string(result.PluginJSON), c.plugin)
		checkHas(t, name+": Envoy's configuration", string(result.Main()), c.envoy)
	}
}

func checkHas(t *testing.T, what, text string, want []string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(strings.NewReplacer(": \"", ":\"", ": {", ":{").Replace(text), part) && !strings.Contains(text, part) {
			t.Errorf("%s lacks %q", what, part)
		}
	}
}
