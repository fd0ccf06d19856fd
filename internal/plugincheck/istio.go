package plugincheck

import (
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// istioObjects are the resources for Istio that have to do with limpet.
type istioObjects struct {
	plugins []value
	checked []value // those of the plugins that are limpet's
	filters []value // EnvoyFilters
}

// collectIstio tells whether a document is an object of Kubernetes.
func (c *checker) collectIstio(v value) bool {
	switch v.get("kind").text() {
	case "":
		return false
	case "WasmPlugin":
		c.istio.plugins = append(c.istio.plugins, v)
	case "EnvoyFilter":
		c.istio.filters = append(c.istio.filters, v)
	case "List":
		for _, item := range v.get("items").items() {
			c.collectIstio(item)
		}
	}
	return true
}

// checkIstio checks limpet's WasmPlugins and what EnvoyFilters put around them, or an EnvoyFilter with the native
// filter.
func (c *checker) checkIstio() {
	for _, object := range c.istio.plugins {
		spec := object.get("spec")
		config := spec.get("pluginConfig")
		configured := !config.get("policies").missing() || !config.get("version").missing()
		if configured || isLimpets(spec.get("url").text(), spec.get("pluginName").text(), config) {
			c.checkOnly(object)
			c.checkWasmPlugin(object, config)
		}
	}
	for _, patch := range patchesOf(c.istio.filters) {
		f := patch.get("patch").get("value")
		if f.get("typed_config").typeName() == "DynamicModuleFilter" {
			ch := chain{limpet: -1, filters: []filter{{at: f, kind: "DynamicModuleFilter", config: f.get("typed_config")}}}
			c.readFilter(&ch, 0)
		}
	}
}

// checkWasmPlugin: here the configuration is a struct, and the fence and the pin are an EnvoyFilter's.
func (c *checker) checkWasmPlugin(object, config value) {
	spec := object.get("spec")
	if kind := spec.get("type"); kind.text() == "NETWORK" {
		c.add(
			kind,
			"Unsupported value: \"NETWORK\": limpet.wasm is a filter for HTTP, and does nothing as another; supported values: "+
				"\"HTTP\"",
		)
	}
	text, err := toJSON(config.node)
	if err != nil {
		c.Plugins++
		c.add(config, "%v", err)
		return
	}
	given, named := c.istioVariables(spec.get("vmConfig").get("env"))
	p := c.parse(config, text, given)
	if p.sound {
		if name := p.config.Keys.EnvironmentVariable(); name != "" && !slices.Contains(named, name) {
			c.add(
				spec.get("vmConfig").get("env"),
				"Required value: {name: %s, valueFrom: HOST}: limpet.wasm sees no other variable of the "+
					"proxy's, and all routes of the gateway answer 500 without its keys",
				name,
			)
		}
	}
	ch := chain{plugin: p}
	c.checkPatches(object, ch.pinHeader())
}

// istioVariables are those that a WasmPlugin names, and the values that it has.
func (c *checker) istioVariables(env value) (given map[string]string, names []string) {
	given = map[string]string{}
	for _, v := range env.items() {
		names = append(names, v.get("name").text())
		if text := v.get("value"); !text.missing() {
			given[v.get("name").text()] = text.text()
		} else if from := v.get("valueFrom"); from.text() != "HOST" {
			c.add(from, "Required value: HOST, or a value: the variable %q is empty else", v.get("name").text())
		}
	}
	return given, names
}

func patchesOf(filters []value) (patches []value) {
	for _, f := range filters {
		patches = append(patches, f.get("spec").get("configPatches").items()...)
	}
	return patches
}

// checkPatches finds the fence and the pin among the patches of the EnvoyFilters that are for the plugin's pods.
func (c *checker) checkPatches(object value, header string) {
	var same, others []value
	for _, f := range c.istio.filters {
		if isForOthers(f, object) {
			others = append(others, f)
		} else {
			same = append(same, f)
		}
	}
	before := len(c.Problems)
	c.checkPieces(object.get("spec"), header, patchesOf(same))
	if len(c.Problems) == before || len(others) == 0 {
		return
	}
	trial := checker{} // do those for other pods have what is missing?
	trial.checkPieces(object.get("spec"), header, patchesOf(c.istio.filters))
	if len(trial.Problems) == 0 {
		c.Problems = c.Problems[:before]
		for _, f := range others {
			c.add(
				f.get("metadata"),
				"this EnvoyFilter has what the WasmPlugin %q needs around it, and is for other pods: namespace and "+
					"workloadSelector or targetRefs must be those of the plugin",
				object.get("metadata").get("name").text(),
			)
		}
	}
}

// checkOnly: of two plugins for the same pods, the one behind takes the other's pins away, where it has no policy for
// the route.
func (c *checker) checkOnly(object value) {
	for _, other := range c.istio.checked {
		if whose(other) == whose(object) {
			c.add(
				object.get("metadata"),
				"Duplicate value: the WasmPlugin %q is limpet's and for the same pods: the one behind "+
					"takes the other's pins away; put the policies of both into one",
				other.get("metadata").get("name").text(),
			)
		}
	}
	c.istio.checked = append(c.istio.checked, object)
}

// whose is for which pods a plugin is, as far as two that say it in the same words are for the same.
func whose(plugin value) string {
	var all []string
	for _, field := range []string{"selector", "targetRef", "targetRefs"} {
		text, _ := toJSON(plugin.get("spec").get(field).node) // Istio reads it
		all = append(all, text)
	}
	return plugin.get("metadata").get("namespace").text() + strings.Join(all, "")
}

// rootNamespace is where Istio looks for objects that are for all namespaces, unless its mesh configuration says
// otherwise.
const rootNamespace = "istio-system"

// isForOthers tells whether an EnvoyFilter can't be for the pods of a WasmPlugin: by its labels, or by its namespace.
func isForOthers(f, plugin value) bool {
	names, labels := f.get("spec").get("workloadSelector").get("labels").fields()
	selected := plugin.get("spec").get("selector").get("matchLabels")
	for i, name := range names {
		if v := selected.get(name); !v.missing() && v.text() != labels[i].text() {
			return true
		}
	}
	if referToOthers(f.get("spec").get("targetRefs").items(), plugin.get("spec").get("targetRefs").items()) {
		return true
	}
	one, other := f.get("metadata").get("namespace").text(), plugin.get("metadata").get("namespace").text()
	return one != other && one != rootNamespace && other != rootNamespace
}

// referToOthers tells whether all references of a list are to other objects than those of another: of two kinds nobody
// knows it.
func referToOthers(a, b []value) bool {
	for _, one := range a {
		for _, other := range b {
			if one.get("kind").text() != other.get("kind").text() || one.get("name").text() == other.get("name").text() {
				return false
			}
		}
	}
	return len(a) > 0 && len(b) > 0
}

// checkPieces finds the fence and the pin among patches, and says what is wrong with them.
func (c *checker) checkPieces(spec value, header string, patches []value) {
	named := plugin{sound: true, config: policyconfig.Config{PinHeader: header}}
	ch := chain{limpet: 0, filters: []filter{{at: spec}}, whole: true, plugin: named}
	removed := map[string]bool{}
	var fences []value
	for _, patch := range patches {
		content := patch.get("patch").get("value")
		for _, field := range []string{"request_headers_to_remove", "response_headers_to_remove"} {
			if containsFold(content.get(field).texts(), header) {
				removed[field] = true
				c.checkMerged(patch)
			}
		}
		config, kind := content.get("typed_config").message()
		f := filter{at: content, kind: kind, config: config}
		if requests, _ := removes(config.get("mutations"), header); requests {
			fences = append(fences, patch)
		}
		switch {
		case f.kind == "":
		case isInsertedFirst(patch):
			ch.filters = append([]filter{f}, ch.filters...)
			ch.limpet++
		default:
			ch.filters = append(ch.filters, f)
		}
	}
	c.findParts(&ch)
	for _, patch := range patches {
		if strings.EqualFold(sessionHeader(patch.get("patch").get("value").get("typed_config")), header) {
			c.checkWhere(patch, fences)
			c.checkMode(spec, contextOf(patch))
		}
	}
	for _, field := range []string{"request_headers_to_remove", "response_headers_to_remove"} {
		if !removed[field] {
			c.add(
				spec,
				"no EnvoyFilter has %s: [%s] for the route configuration: the pin must not leave the proxy",
				field,
				header,
			)
		}
	}
}
