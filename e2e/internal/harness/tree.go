package harness

import (
	"cmp"
	"os"
	"slices"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"sigs.k8s.io/yaml"
)

// Tree is an Envoy configuration as YAML's own maps and lists. Tests change in it what no Gateway API object
// can say yet.
type Tree map[string]any

func parseTree(t testing.TB, text []byte) Tree {
	t.Helper()
	tree := Tree{}
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func (tree Tree) write(t testing.TB, path string) {
	t.Helper()
	text, err := yaml.Marshal(map[string]any(tree))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Find returns every map in the tree that match accepts.
func (tree Tree) Find(match func(map[string]any) bool) []map[string]any {
	return findNodes(map[string]any(tree), match)
}

func findNodes(node any, match func(map[string]any) bool) []map[string]any {
	var found []map[string]any
	switch node := node.(type) {
	case map[string]any:
		if match(node) {
			found = append(found, node)
		}
		for _, child := range node {
			found = append(found, findNodes(child, match)...)
		}
	case []any:
		for _, child := range node {
			found = append(found, findNodes(child, match)...)
		}
	}
	return found
}

// One is the only map in the tree that match accepts; what names it in the failure.
func (tree Tree) One(t testing.TB, what string, match func(map[string]any) bool) map[string]any {
	t.Helper()
	found := tree.Find(match)
	if len(found) != 1 {
		t.Fatalf("the Envoy configuration has %d of: %s", len(found), what)
	}
	return found[0]
}

// Named accepts the map whose name is name and that has all these keys.
func Named(name string, keys ...string) func(map[string]any) bool {
	return func(m map[string]any) bool {
		for _, key := range keys {
			if _, ok := m[key]; !ok {
				return false
			}
		}
		return m["name"] == name
	}
}

// Filter is the HTTP filter of that name, limpet's own by "limpet".
func (tree Tree) Filter(t testing.TB, name string) map[string]any {
	t.Helper()
	if name == "limpet" {
		name = filterName()
	}
	return tree.One(t, "HTTP filter "+name, Named(name, "typed_config"))
}

// Route is the first route whose prefix or path is path.
func (tree Tree) Route(t testing.TB, path string) map[string]any {
	t.Helper()
	routes := tree.Find(func(m map[string]any) bool {
		match, ok := m["match"].(map[string]any)
		if !ok {
			return false
		}
		return match["prefix"] == path || match["path"] == path || match["path_separated_prefix"] == path
	})
	if len(routes) == 0 {
		t.Fatalf("the Envoy configuration has no route for %s", path)
	}
	return routes[0]
}

// pluginSettings are the maps that hold the plugin's JSON under "value": one for each listener, all the same.
func (tree Tree) pluginSettings(t testing.TB) []map[string]any {
	t.Helper()
	var found []map[string]any
	for _, filter := range tree.Find(Named(filterName(), "typed_config")) {
		found = append(found, Tree(filter).Find(func(m map[string]any) bool {
			_, text := m["value"].(string)
			return text && m["@type"] == "type.googleapis.com/google.protobuf.StringValue"
		})...)
	}
	if len(found) == 0 {
		t.Fatal("the Envoy configuration has no plugin configuration")
	}
	return found
}

// Plugin reads the plugin's configuration out of the tree, with the policies that travel with routes.
func (tree Tree) Plugin(t testing.TB) policyconfig.Config {
	t.Helper()
	config, errs := policyconfig.Parse(tree.pluginSettings(t)[0]["value"].(string))
	if len(errs) > 0 {
		t.Fatalf("the compiled plugin configuration: %v", errs)
	}
	read := map[string]bool{}
	for _, route := range tree.carriers() {
		text := route["name"].(string)
		if name, _, _ := policyconfig.CutIdentity(text); !read[text] {
			read[text] = true
			policies, errs := policyconfig.ParseRoute(carried(route)[policyconfig.RouteField].(string), name, config.PinHeader)
			if len(errs) > 0 {
				t.Fatalf("the policies of route %s: %v", text, errs)
			}
			for _, p := range policies {
				addPolicy(&config, p)
			}
		}
	}
	slices.SortFunc(config.Policies, func(a, b policyconfig.Policy) int { return cmp.Compare(a.Name, b.Name) })
	return config
}

// addPolicy adds a policy, or its routes to the one of its name.
func addPolicy(config *policyconfig.Config, p policyconfig.Policy) {
	for i := range config.Policies {
		if known := &config.Policies[i]; known.Name == p.Name {
			known.Routes = append(known.Routes, p.Routes...)
			return
		}
	}
	config.Policies = append(config.Policies, p)
}

// carriers are the routes with which policies travel.
func (tree Tree) carriers() []map[string]any {
	return tree.Find(func(m map[string]any) bool {
		name, _ := m["name"].(string)
		_, _, found := policyconfig.CutIdentity(name)
		return found && carried(m) != nil
	})
}

// carried is what the metadata of a route has for limpet; nil for nothing.
func carried(route map[string]any) map[string]any {
	metadata, _ := route["metadata"].(map[string]any)
	all, _ := metadata["filter_metadata"].(map[string]any)
	own, _ := all[policyconfig.RouteMetadata].(map[string]any)
	return own
}

// StopTravelling moves the policies into the plugin configuration, as people write it by hand.
func (tree Tree) StopTravelling(t testing.TB) {
	t.Helper()
	config := tree.Plugin(t)
	for _, route := range tree.carriers() {
		name, _, _ := policyconfig.CutIdentity(route["name"].(string))
		route["name"] = name
		delete(route, "metadata")
	}
	tree.SetPlugin(t, config)
}

// SetPlugin puts a plugin configuration into the tree. Its policies travel with the routes, where some do already.
func (tree Tree) SetPlugin(t testing.TB, config policyconfig.Config) {
	t.Helper()
	carriers := tree.carriers()
	for _, route := range carriers {
		name, _, _ := policyconfig.CutIdentity(route["name"].(string))
		full, text, err := policyconfig.WriteRoute(name, config.Policies, config.PinHeader)
		if err != nil {
			t.Fatal(err)
		}
		route["name"], carried(route)[policyconfig.RouteField] = full, text
	}
	if len(carriers) > 0 {
		config.Policies = nil
	}
	text, err := policyconfig.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	tree.SetPluginText(t, string(text))
}

// SetPluginText puts text into the tree as the plugin's configuration, valid or not.
func (tree Tree) SetPluginText(t testing.TB, text string) {
	t.Helper()
	for _, setting := range tree.pluginSettings(t) {
		setting["value"] = text
	}
}

// PolicyOf is the policy whose session has that name.
func PolicyOf(t testing.TB, config *policyconfig.Config, sessionName string) *policyconfig.Policy {
	t.Helper()
	for i := range config.Policies {
		if config.Policies[i].SessionName == sessionName {
			return &config.Policies[i]
		}
	}
	t.Fatalf("no policy for the session %q", sessionName)
	return nil
}
