package plugincheck

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func none(string) string { return "" }

func check(t *testing.T, files ...File) string {
	t.Helper()
	result, err := Check(files, none)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, p := range result.Problems {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestNoneInvented: what the compiler writes, the example of the documentation and the smallest configuration have no mistakes.
func TestNoneInvented(t *testing.T) {
	var paths []string
	for _, pattern := range []string{
		"../../envoy.yaml", "../../compiler/testdata/*.envoy.yaml", "../../compiler/testdata/*.istio.yaml",
		"../../compiler/testdata/*.plugin.json", "../around/testdata/*.yaml", "testdata/*.yaml",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text := readFile(t, path)
		if !strings.Contains(text, "limpet.dev/v1") {
			continue // without sessions
		}
		if got := check(t, File{filepath.Base(path), []byte(text)}); got != "" {
			t.Error(got)
		}
	}
	capitals := strings.ReplaceAll(readFile(t, "testdata/smallest.yaml"), "x-limpet-pin", "X-Limpet-Pin")
	if got := check(t, File{"capitals", []byte(capitals)}); got != "" {
		t.Error(got)
	}
	first := strings.ReplaceAll(readFile(t, "testdata/istio.yaml"), "INSERT_FIRST", "INSERT_BEFORE") // of no subFilter: before all
	if got := check(t, File{"first", []byte(first)}); got != "" {
		t.Error(got)
	}
	for page, least := range map[string]int{"plugin-config.md": 2, "istio.md": 1} {
		checked := 0
		for i, block := range strings.Split(readFile(t, "../../docs/"+page), "```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(block, "limpet.dev/v1\n") && !strings.Contains(block, "static_resources") {
				continue // a route
			}
			checked++
			if got := check(t, File{fmt.Sprintf("%s, block %d", page, i), []byte(block)}); got != "" {
				t.Error(got)
			}
		}
		if checked < least {
			t.Errorf("%s: %d blocks checked, want %d", page, checked, least)
		}
	}
}

// golden compares what there is to say of each mistake with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readFile(t, path); got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// edit is a mistake: a text that takes the place of another in a good configuration.
type edit struct{ name, old, new string }

// TestMistakes makes one mistake at a time: each has a golden line or more, and none passes.
func TestMistakes(t *testing.T) {
	for base, edits := range map[string][]edit{"smallest": smallestEdits, "large": largeEdits, "istio": istioEdits, "leads": leadsEdits} {
		good := readFile(t, filepath.Join("testdata", base+".yaml"))
		var all strings.Builder
		for _, e := range edits {
			if strings.Count(good, e.old) == 0 {
				t.Fatalf("%s: %q is not in %s.yaml", e.name, e.old, base)
			}
			got := check(t, File{base + ".yaml", []byte(strings.ReplaceAll(good, e.old, e.new))})
			if got == "" {
				t.Errorf("%s/%s: no mistake was found", base, e.name)
			}
			fmt.Fprintf(&all, "# %s\n%s", e.name, got)
		}
		golden(t, base, all.String())
	}
}

var leadsEdits = []edit{
	{"the header is removed by a filter alone", "early_header_mutation_extensions", "early_header_mutations"},
	{"another header is removed", "mutations: [{ remove: x-limpet-pin-backend }]", "mutations: [{ remove: x-limpet-pin }]"},
	{"a cluster of the weights is missing", `"v2 1a1b2c3d4e5f6071", `, ""},
	{"a cluster is misspelt", `"copy-of-v2 1a1b`, `"copy-of-v-2 1a1b`},
	{"a lead to a cluster that is not there", `"leads": [`, `"leads": ["v3 0a1b2c3d4e5f6071", `},
	{"no route matches", "exact: 1a1b2c3d4e5f6071", "exact: 1a1b2c3d4e5f6072"},
	{"a route to the wrong backend", "cluster: copy-of-v2 }", "cluster: copy-of-v1 }"},
	{"a route is not the policy's", `"shop-v1", "shop-v2"]`, `"shop-v1"]`},
	{"a copy without the limit", "route: { cluster: copy-of-v2 }\n                typed_per_filter_config: ", "route: { cluster: copy-of-v2 }\n                metadata: "},
	{
		"the weights in front",
		"routes:\n", "routes:\n              - { name: shop, match: { prefix: / }, route: { weighted_clusters: { clusters: [{ name: v1, weight: 1 }] } } }\n",
	},
	{"a tag that no lead has is revoked", `["0a1b2c3d before`, `["0a1b2c3e before`},
}

var smallestEdits = []edit{
	{"a field is misspelt", "sessionName", "sesionName"},
	{"JSON that is YAML", `'{"version":"limpet.dev/v1","policies":[{"name":"shop","routes":["shop"],"sessionName":"shop"}]}'`, `"version: limpet.dev/v1"`},
	{"a mapping in place of a string", `'{"version":"limpet.dev/v1","policies":[{"name":"shop","routes":["shop"],"sessionName":"shop"}]}'`, `{version: limpet.dev/v1, policies: []}`},
	{"a Struct", "google.protobuf.StringValue", "google.protobuf.Struct"},
	{"no variables for the VM", "environment_variables: { host_env_keys: [LIMPET_KEYS] }", "vm_id: limpet"},
	{"another variable", "[LIMPET_KEYS]", "[LIMPET_KEY]"},
	{"a route in capitals", "{ name: shop, match", "{ name: Shop, match"},
	{"a route without a name", "{ name: shop, match", "{ match"},
	{"the pin of another name", "HeaderBasedSessionState, name: x-limpet-pin", "HeaderBasedSessionState, name: x-pin"},
	{"pinHeader in the JSON alone", `"version":"limpet.dev/v1"`, `"version":"limpet.dev/v1","pinHeader":"x-pin"`},
	{
		"Envoy's cookie",
		`envoy.http.stateful_session.header
                typed_config: { "@type": type.googleapis.com/envoy.extensions.http.stateful_session.header.v3.HeaderBasedSessionState, name: x-limpet-pin }`,
		`envoy.http.stateful_session.cookie
                typed_config: { "@type": type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState, cookie: { name: a } }`,
	},
	{"no fence on requests", "request_mutations: [{ remove: x-limpet-pin }], ", ""},
	{"no fence on responses", ", response_mutations: [{ remove: x-limpet-pin }]", ""},
	{"no fence", "header_mutation.v3.HeaderMutation", "grpc_web.v3.GrpcWeb"},
	{"no stateful_session", "stateful_session.v3.StatefulSession", "grpc_web.v3.GrpcWeb"},
	{"backends get the pin", "request_headers_to_remove: [x-limpet-pin]\n", "name: all\n"},
	{"backends give a pin", "response_headers_to_remove: [x-limpet-pin]", "name: all"},
	{"Fail that is not strict", `"sessionName":"shop"`, `"sessionName":"shop","onHostLost":"Fail"`},
	{"limpet is off", "- name: limpet\n", "- name: limpet\n            disabled: true\n"},
	{"the pin is off", "- name: pin\n", "- name: pin\n            disabled: true\n"},
	{"the fence is off", "- name: fence\n", "- name: fence\n            disabled: true\n"},
	{"a split of clusters", "cluster: shop, retry", "weighted_clusters: { clusters: [{ name: shop, weight: 50 }, { name: other, weight: 50 }] }, retry"},
	{"a cluster that the route does not have", `"sessionName":"shop"`, `"sessionName":"shop","clusters":["shp"]`},
	{"a Unix socket", "address: { socket_address: { address: 127.0.200.1, port_value: 28080 } }", "address: { pipe: { path: /run/shop.sock } }"},
	{"settings under another name", "match: { prefix: / }", "typed_per_filter_config: { envoy.filters.http.wasm: { disabled: true } }, match: { prefix: / }"},
	{"within without its filter", `"sessionName":"shop"`, `"sessionName":"shop","onHostLost":"RebalanceWithin"`},
	{"limpet twice", "- name: pin\n", `- { name: again, typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm, config: { name: limpet } } }` + "\n          - name: pin\n"},
	{"nothing of limpet's", "limpet", "other"},
}

var largeEdits = []edit{
	{"not strict on the route", "strict: true", "strict: false"},
	{"connections are tried again", "retry_on: retriable-status-codes", "retry_on: 'retriable-status-codes, connect-failure'"},
	{
		"the virtual host tries connections again",
		"cluster: shop\n                  retry_policy: { retry_on: retriable-status-codes, retriable_status_codes: [425] }\n",
		"cluster: shop\n              retry_policy: { retry_on: 5xx }\n            - name: b\n              domains: [b]\n              routes:\n" +
			"              - name: b\n                match: { prefix: / }\n                direct_response: { status: 200 }\n",
	},
	{"limpet is not on", "                  limpet: { \"@type\": type.googleapis.com/envoy.config.route.v3.FilterConfig, config: {} }\n", ""},
	{"the fence is not on", "                  envoy.filters.http.header_mutation: { \"@type\": type.googleapis.com/envoy.config.route.v3.FilterConfig, config: {} }\n", ""},
	{"settings for limpet under the name of all wasm", "                  limpet: {", "                  envoy.filters.http.wasm: {"},
	{"another header on the route", "                          name: x-limpet-pin\n", "                          name: x-pin\n"},
	{"resets are tried again", "retry_policy: { retry_on: retriable-status-codes, ", "retry_policy: { retry_on: reset, "},
	{"a policy that travels is broken", "name: shop # the policy's \"routes\" name this", "name: shop#0123456789abcdef\n                metadata: { filter_metadata: { limpet: { policies: '[{}]' } } }"},
}

var istioEdits = []edit{
	{"a field is misspelt", "sessionName", "sesionName"},
	{"no variables", "  vmConfig: {env: [{name: LIMPET_KEYS, valueFrom: HOST}]}\n", ""},
	{"no fence", "header_mutation.v3.HeaderMutation", "grpc_web.v3.GrpcWeb"},
	{
		"the fence is last", "http_connection_manager}}}}\n    patch:\n      operation: INSERT_FIRST",
		"http_connection_manager, subFilter: {name: envoy.filters.http.router}}}}}\n    patch:\n      operation: INSERT_BEFORE",
	},
	{"the pin of another name", "              name: x-limpet-pin", "              name: x-pin"},
	{"the pin is Envoy's cookie", "header.v3.HeaderBasedSessionState", "cookie.v3.CookieBasedSessionState"},
	{"the pin leaves the proxy", "{request_headers_to_remove: [x-limpet-pin], response_headers_to_remove: [x-limpet-pin]}", "{}"},
}
