package plugincheck

import (
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// istioObjects are the resources for Istio that have to do with limpet.
type istioObjects struct {
	plugins []value
	patches []value // of all EnvoyFilters
}

// collectIstio tells whether a document is an object of Kubernetes.
func (c *checker) collectIstio(v value) bool {
	switch v.get("kind").text() {
	case "":
		return false
	case "WasmPlugin":
		c.istio.plugins = append(c.istio.plugins, v.get("spec"))
	case "EnvoyFilter":
		c.istio.patches = append(c.istio.patches, v.get("spec").get("configPatches").items()...)
	case "List":
		for _, item := range v.get("items").items() {
			c.collectIstio(item)
		}
	}
	return true
}

// checkIstio checks limpet's WasmPlugins and what EnvoyFilters put around them, or an EnvoyFilter with the native filter.
func (c *checker) checkIstio() {
	for _, spec := range c.istio.plugins {
		config := spec.get("pluginConfig")
		configured := !config.get("policies").missing() || !config.get("version").missing()
		if configured || isLimpets(spec.get("url").text(), spec.get("pluginName").text(), config) {
			c.checkWasmPlugin(spec, config)
		}
	}
	for _, patch := range c.istio.patches {
		f := patch.get("patch").get("value")
		if f.get("typed_config").typeName() == "DynamicModuleFilter" {
			ch := chain{limpet: -1, filters: []filter{{at: f, kind: "DynamicModuleFilter", config: f.get("typed_config")}}}
			c.readFilter(&ch, 0)
		}
	}
}

// checkWasmPlugin: here the configuration is a struct, and the fence and the pin are an EnvoyFilter's.
func (c *checker) checkWasmPlugin(spec, config value) {
	text, err := toJSON(config.node)
	if err != nil {
		c.Plugins++
		c.add(config, "%v", err)
		return
	}
	given, named := istioVariables(spec.get("vmConfig").get("env"))
	p := c.parse(config, text, given)
	header := policyconfig.DefaultConfig().PinHeader
	if p.sound {
		header = p.config.PinHeader
		if name := p.config.Keys.EnvironmentVariable(); name != "" && !slices.Contains(named, name) {
			c.add(spec.get("vmConfig").get("env"), "Required value: {name: %s, valueFrom: HOST}: limpet.wasm sees no other variable of the "+
				"proxy's, and all routes of the gateway answer 500 without its keys", name)
		}
	}
	c.checkPatches(spec, header)
}

// istioVariables are those that a WasmPlugin names, and the values that it has.
func istioVariables(env value) (given map[string]string, names []string) {
	given = map[string]string{}
	for _, v := range env.items() {
		names = append(names, v.get("name").text())
		if text := v.get("value"); !text.missing() {
			given[v.get("name").text()] = text.text()
		}
	}
	return given, names
}

// checkPatches finds the fence and the pin among the EnvoyFilters' patches.
func (c *checker) checkPatches(spec value, header string) {
	named := plugin{sound: true, config: policyconfig.Config{PinHeader: header}}
	ch := chain{limpet: 0, filters: []filter{{at: spec}}, whole: true, plugin: named}
	removed := map[string]bool{}
	for _, patch := range c.istio.patches {
		content := patch.get("patch").get("value")
		for _, field := range []string{"request_headers_to_remove", "response_headers_to_remove"} {
			removed[field] = removed[field] || containsFold(content.get(field).texts(), header)
		}
		f := filter{at: content, kind: content.get("typed_config").typeName(), config: content.get("typed_config")}
		switch first := patch.get("patch").get("operation").text() == "INSERT_FIRST"; {
		case f.kind == "":
		case first:
			ch.filters = append([]filter{f}, ch.filters...)
			ch.limpet++
		default:
			ch.filters = append(ch.filters, f)
		}
	}
	c.findParts(&ch)
	for _, field := range []string{"request_headers_to_remove", "response_headers_to_remove"} {
		if !removed[field] {
			c.add(spec, "no EnvoyFilter has %s: [%s] for the route configuration: the pin must not leave the proxy", field, header)
		}
	}
}
