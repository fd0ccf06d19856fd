package compiler

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml"
)

// What the worked examples of docs/semantics.md leave out.
const (
	exampleBase = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: infra}
spec:
  gatewayClassName: limpet
  listeners:
  - {name: public, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}
  - {name: internal, protocol: HTTP, port: 81, allowedRoutes: {namespaces: {from: All}}}
---
`
	exampleBackends = `
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: web, namespace: infra}]
  rules:
  - matches: [{path: {value: /stable}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: stable}]
  - matches: [{path: {value: /canary}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: canary}]
`
	exampleService = `
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`
)

var (
	firstBlock = regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n")
	inTicks    = regexp.MustCompile("`([^`]*)`")
)

// ruleText is what docs/semantics.md says under a rule, and its first block of YAML.
func ruleText(t *testing.T, rule, next string) (text, block string) {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("..", "docs", "semantics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(document), "\n**"+rule+".")
	text, _, ended := strings.Cut(text, "\n"+next)
	parts := firstBlock.FindStringSubmatch(text)
	if !found || !ended || parts == nil {
		t.Fatalf("docs/semantics.md has no %s with an example", rule)
	}
	return text, parts[1]
}

// exampleRows gives the cells of a rule's table: the texts in backticks, or what stands there without any.
func exampleRows(t *testing.T, text string, want int) (rows [][][]string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		var row [][]string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			var texts []string
			for _, m := range inTicks.FindAllStringSubmatch(cell, -1) {
				texts = append(texts, m[1])
			}
			if texts == nil && strings.TrimSpace(cell) != "" {
				texts = []string{strings.TrimSpace(cell)}
			}
			row = append(row, texts)
		}
		rows = append(rows, row)
	}
	if len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	return rows
}

func compileExample(t *testing.T, documents string) *Result {
	t.Helper()
	result, err := Compile([]Source{{Name: "example.yaml", Data: []byte(documents)}}, Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm"}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestS67XBackendEndpoints compiles the example and compares the endpoints with the document's table.
func TestS67XBackendEndpoints(t *testing.T) {
	text, block := ruleText(t, "S67", "**S68.")
	result := compileExample(t, exampleBase+block+exampleBackends)
	var bootstrap struct {
		StaticResources struct {
			Clusters []struct {
				Name           string
				LoadAssignment any `json:"load_assignment"`
			}
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal(result.Main(), &bootstrap); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	address := regexp.MustCompile(`address: (\S+)\n\s+port_value: (\d+)`)
	for _, c := range bootstrap.StaticResources.Clusters {
		hosts, err := yaml.Marshal(c.LoadAssignment)
		if err != nil {
			t.Fatal(err)
		}
		got[c.Name] = nil
		for _, m := range address.FindAllStringSubmatch(string(hosts), -1) {
			got[c.Name] = append(got[c.Name], m[1]+":"+m[2])
		}
	}
	warnings := warningText(result.Warnings)
	for _, row := range exampleRows(t, text, 2) {
		name := row[0][0]
		if hosts, is := got["xbackend/shop/"+name+"/8080"]; !is || !slices.Equal(hosts, row[1]) {
			t.Errorf("%s has the endpoints %v, the document says %v", name, hosts, row[1])
		}
		if warned := strings.Contains(warnings, "XBackend shop/"+name+": spec.endpointSelector"); warned != (len(row[1]) == 0) {
			t.Errorf("%s: warned is %t:\n%s", name, warned, warnings)
		}
	}
}

// TestS68Names compiles the example and compares routes and policies with the document's table.
func TestS68Names(t *testing.T) {
	text, block := ruleText(t, "S68", "## 13.")
	result := compileExample(t, exampleBase+block+exampleService)
	policies := 0
	for _, row := range exampleRows(t, text, 3) {
		if !regexp.MustCompile("name: " + regexp.QuoteMeta(row[2][0]) + "(#[0-9a-f]{16})?\n").Match(result.Main()) {
			t.Errorf("there is no route %s", row[2][0])
		}
		if row[3] == nil {
			continue
		}
		policies++
		found := false
		for _, p := range result.Plugin.Policies {
			if p.Name == row[3][0] {
				found = slices.Equal(p.Routes, row[2]) && p.AbsoluteTimeout.String() == row[4][0] && p.Scope == row[5][0] && p.SessionName == "pay"
			}
		}
		if !found {
			t.Errorf("no policy is as the document says: %v; there are %+v", row, result.Plugin.Policies)
		}
	}
	if len(result.Plugin.Policies) != policies {
		t.Errorf("%d policies, the document names %d", len(result.Plugin.Policies), policies)
	}
}

// TestS73TimeoutsAndRetries compiles the example and compares the routes with the document's table.
func TestS73TimeoutsAndRetries(t *testing.T) {
	text, block := ruleText(t, "S73", "## 17.")
	result := compileExample(t, exampleBase+block+exampleService)
	var bootstrap any
	if err := yaml.Unmarshal(result.Main(), &bootstrap); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	hosts := gjson.GetBytes(config, "static_resources.listeners.0.filter_chains.0.filters.0.typed_config.route_config.virtual_hosts")
	for _, row := range exampleRows(t, text, 3) {
		action := hosts.Get(`0.routes.#(match.path_separated_prefix=="` + row[0][0] + `").route`)
		for i, field := range []string{"timeout", "retry_policy.per_try_timeout", "retry_policy.num_retries", "retry_policy.retry_on"} {
			if got := action.Get(field).String(); got != strings.Join(row[i+1], "") {
				t.Errorf("%s: %s is %q, the document says %q", row[0][0], field, got, row[i+1])
			}
		}
	}
}
