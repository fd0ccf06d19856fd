package harness

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Discovery serves the plugin and its configuration, with all policies, from a file that Envoy watches (ECDS), so that
// a test can change the configuration of a running Envoy.
type Discovery struct {
	// Broken makes the first configuration one that the plugin refuses.
	Broken bool

	path   string
	plugin Tree // the HTTP filter as compiled
}

// Install moves the wasm filter of a tree into the watched file.
func (d *Discovery) Install(t testing.TB, tree Tree) {
	t.Helper()
	d.path = filepath.Join(t.TempDir(), "plugin.yaml")
	tree.StopTravelling(t)
	filter := tree.Filter(t, "limpet")
	d.plugin = Tree(maps.Clone(filter))
	if d.Broken {
		d.SetText(t, "{}")
	} else {
		d.publish(t)
	}
	delete(filter, "typed_config")
	filter["config_discovery"] = map[string]any{
		"config_source": map[string]any{
			"path_config_source":   map[string]any{"path": d.path},
			"resource_api_version": "V3",
		},
		"type_urls": []any{FilterType()},
	}
}

// Set moves another plugin configuration into place.
func (d *Discovery) Set(t testing.TB, config policyconfig.Config) {
	t.Helper()
	d.plugin.SetPlugin(t, config)
	d.publish(t)
}

// SetText moves another text into place as the plugin's configuration, valid or not.
func (d *Discovery) SetText(t testing.TB, text string) {
	t.Helper()
	d.plugin.SetPluginText(t, text)
	d.publish(t)
}

// Reloads is how often Envoy took over a configuration, and how often it refused one.
func (d *Discovery) Reloads(t testing.TB, e *Envoy) (taken, refused uint64) {
	t.Helper()
	for name, value := range e.Stats(t, `^extension_config_discovery\..*\.config_(reload|fail)$`) {
		if name[len(name)-len("reload"):] == "reload" {
			taken += value
		} else {
			refused += value
		}
	}
	return taken, refused
}

func (d *Discovery) publish(t testing.TB) {
	t.Helper()
	update := Tree{"resources": []any{map[string]any{
		"@type":        "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
		"name":         filterName(),
		"typed_config": d.plugin["typed_config"],
	}}}
	update.write(t, d.path+".new")
	if err := os.Rename(d.path+".new", d.path); err != nil {
		t.Fatal(err)
	}
}
