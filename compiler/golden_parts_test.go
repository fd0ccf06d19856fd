package compiler

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/aliasyaml"
)

// splitOutputs gives a case's outputs as goldens per resource: for Envoy .listeners.yaml, .routes.yaml,
// .clusters.yaml and .bootstrap.yaml (what is neither), for another target .documents.yaml, and .plugin.yaml. Each is
// written with aliases of common.yaml. What is as in the usual case (with sessions or without) is left out. Errors
// stay as they are, and warnings but for common messages.
func splitOutputs(t *testing.T, outputs map[string][]byte) map[string][]byte {
	t.Helper()
	common := commonParts(t)
	files := map[string][]byte{}
	values := splitValues(t, outputs)
	if text, has := outputs[".err.txt"]; has {
		files[".err.txt"] = text
	}
	if text, has := outputs[".warnings.txt"]; has {
		files[".warnings.txt"] = abbreviateMessages(text, common.parts)
	}
	plugin, _ := values["plugin"].(map[string]any)
	policies, _ := plugin["policies"].([]any)
	usual := common.usual[len(policies) > 0]
	for _, name := range []string{"plugin", "bootstrap", "listeners", "routes", "clusters", "documents"} {
		if value, has := values[name]; has && !reflect.DeepEqual(value, usual[name]) {
			files["."+name+".yaml"] = writeGolden(t, name, value, plugin)
		}
	}
	return files
}

// abbreviateMessages puts aliases in the place of warnings' common messages.
func abbreviateMessages(text []byte, parts []aliasyaml.Part) []byte {
	for _, p := range parts {
		if message, is := p.Value.(string); is {
			text = bytes.ReplaceAll(text, []byte(": "+message+"\n"), []byte(": *"+p.Name+"\n"))
		}
	}
	return text
}

// writeGolden writes a golden with aliases, and shows that it says all of the value: a parser of YAML reads it from
// common.yaml, the plugin's golden and this one. What has the plugin's configuration in it has an alias of that
// golden.
func writeGolden(t *testing.T, name string, value, plugin any) []byte {
	t.Helper()
	common := commonParts(t)
	parts, before := common.parts, common.text
	if name == "documents" && plugin != nil {
		own := aliasyaml.Part{Name: "plugin", Value: plugin}
		before = slices.Concat(before, aliasyaml.Text("plugin: &plugin", plugin, parts))
		parts = append([]aliasyaml.Part{own}, parts...)
	}
	key := name
	if name == "plugin" {
		key = "plugin: &plugin"
	}
	text := aliasyaml.Text(key, value, parts)
	var read map[string]any
	if err := yaml.Unmarshal(slices.Concat(before, text), &read); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !reflect.DeepEqual(read[name], value) {
		t.Fatalf("%v\nwas written as\n%s", value, text)
	}
	return text
}

// splitValues gives the values of the goldens per resource, by their names. joinBootstrap puts a bootstrap's together
// again.
func splitValues(t *testing.T, outputs map[string][]byte) map[string]any {
	t.Helper()
	values := map[string]any{}
	for ending, text := range outputs {
		switch ending {
		case ".plugin.json":
			values["plugin"] = parseValue(t, text)
		case ".envoy.yaml":
			splitBootstrap(t, parseValue(t, text), string(outputs[".plugin.json"]), values)
		case ".envoy-gateway.yaml", ".istio.yaml":
			values["documents"] = parseDocuments(t, text)
		case ".warnings.txt":
			values["warnings"] = parseMessages(string(text))
		}
	}
	return values
}

func parseValue(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func parseDocuments(t *testing.T, text []byte) any {
	t.Helper()
	documents := []any{}
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if value := parseValue(t, part); value != nil {
			documents = append(documents, value)
		}
	}
	return documents
}

// parseMessages gives the messages of warnings, without where they are.
func parseMessages(text string) any {
	messages := []any{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ": ", 4) // file and line, object, field, message
		messages = append(messages, parts[len(parts)-1])
	}
	return messages
}
