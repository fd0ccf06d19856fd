package envoy_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// newSettings are those of a configuration with a session policy.
func newSettings() envoy.Settings {
	plugin := policyconfig.DefaultConfig()
	plugin.Keys.FromEnv = policyconfig.DefaultKeysEnv
	plugin.Policies = []policyconfig.Policy{{Name: "p"}}
	return envoy.Settings{ModulePath: "dist/limpet.wasm", Plugin: plugin, PluginJSON: []byte(`{"a": "<b>"}`)}
}

// emit writes a bootstrap.
func emit(config *ir.Config, settings envoy.Settings) ([]byte, error) {
	return envoy.Emit(config, settings)
}

// serve writes a configuration for a server.
func serve(config *ir.Config, settings envoy.Settings) (*envoy.Served, error) {
	all, err := envoy.Serve(config.Clusters, settings, []envoy.GatewayConfig{{Config: config}})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// bootstrap is the bootstrap of a configuration, as data.
func bootstrap(t *testing.T, config *ir.Config, settings envoy.Settings) any {
	t.Helper()
	text, err := emit(config, settings)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// parse reads YAML, or JSON.
func parse(t *testing.T, text string) (data any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return data
}

// parsePacked gives a resource of a type as data.
func parsePacked(t *testing.T, kind string, r *envoy.Packed) any {
	t.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&anypb.Any{TypeUrl: "type.googleapis.com/envoy." + kind, Value: r.Content})
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// at is a part of data, by names and indices, such as "static_resources.clusters.0".
func at(t *testing.T, data any, path string) any {
	t.Helper()
	for name := range strings.SplitSeq(path, ".") {
		switch d := data.(type) {
		case map[string]any:
			data = d[name]
		case []any:
			var index int
			if _, err := fmt.Sscan(name, &index); err != nil || index >= len(d) {
				t.Fatalf("%s: there is no item %s among %d", path, name, len(d))
			}
			data = d[index]
		default:
			t.Fatalf("%s: there is no %s in %v", path, name, data)
		}
	}
	return data
}

// checkYAML wants data to have all that the wanted YAML says: lists to the item, and of mappings the keys that it names,
// of which those with null are absent.
func checkYAML(t *testing.T, got any, want string) {
	t.Helper()
	if problem := compare(got, parse(t, want), ""); problem != "" {
		text, _ := yaml.Marshal(got)
		t.Errorf("%s; got\n%s\nwant\n%s", problem, text, want)
	}
}

// compare says where data lacks what is wanted; empty if it does not.
func compare(got, want any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, is := got.(map[string]any)
		if !is {
			return fmt.Sprintf("%s is %v", path, got)
		}
		for name, value := range w {
			if _, has := g[name]; value == nil && has {
				return path + "." + name + " is there"
			} else if value != nil {
				if problem := compare(g[name], value, path+"."+name); problem != "" {
					return problem
				}
			}
		}
		return ""
	case []any:
		g, is := got.([]any)
		if !is || len(g) != len(w) {
			return fmt.Sprintf("%s has %d items, want %d", path, len(g), len(w))
		}
		for i := range w {
			if problem := compare(g[i], w[i], fmt.Sprintf("%s[%d]", path, i)); problem != "" {
				return problem
			}
		}
		return ""
	default:
		if got != want {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
		return ""
	}
}

const (
	firstManager = "static_resources.listeners.0.filter_chains.0.filters.0.typed_config"
	firstRoute   = firstManager + ".route_config.virtual_hosts.0.routes.0"
)
