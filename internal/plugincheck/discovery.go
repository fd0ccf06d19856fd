package plugincheck

import (
	"maps"
	"slices"
	"strings"
)

// discover is the configuration of a filter that Envoy discovers by its name, if the files have it.
func (c *checker) discover(f value) value {
	name, discovery := f.get("name").text(), f.get("config_discovery")
	c.asked[name] = true
	extension, is := c.extensions[name]
	if !is {
		c.unseen("the filter %q, which Envoy discovers", name)
		return discovery.get("default_config") // which Envoy has until then
	}
	config := extension.get("typed_config")
	_, kind := config.message()
	isIts := func(url string) bool { return lastWord(url) == kind }
	if types := discovery.get("type_urls"); !types.missing() && !slices.ContainsFunc(types.texts(), isIts) {
		c.add(
			types,
			"Required value: the type of the filter %q, %s: Envoy refuses it else, and its routes answer 500",
			name,
			kind,
		)
	}
	return config
}

// checkAlone checks filters for Envoy to discover for which no connection manager of the files asks.
func (c *checker) checkAlone() {
	isThere := func(name string) bool { return !c.extensions[name].missing() }
	wanted := slices.DeleteFunc(slices.Sorted(maps.Keys(c.asked)), isThere)
	for _, name := range slices.Sorted(maps.Keys(c.extensions)) {
		if c.asked[name] {
			continue
		}
		at := c.extensions[name]
		config, kind := at.get("typed_config").message()
		ch := chain{limpet: -1, filters: []filter{{at: at, name: name, kind: kind, config: config}}}
		c.readFilter(&ch, 0)
		switch {
		case ch.limpet < 0:
		case len(wanted) > 0:
			c.add(
				at.get("name"),
				"Not found: %q: Envoy discovers a filter by its name, and is to discover %s",
				name,
				strings.Join(wanted, ", "),
			)
		default:
			c.unseen("the listener that has the filter %q", name)
		}
	}
}
