package plugincheck

import (
	"cmp"
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// filter is one of a chain's HTTP filters.
type filter struct {
	at       value
	name     string
	kind     string // its configuration's type
	config   value
	disabled bool
}

// chain are the filters of a connection manager, and which of them have to do with limpet.
type chain struct {
	at      value
	filters []filter
	// limpet is where its filter is; -1 for none.
	limpet int
	native bool
	plugin plugin
	// whole says that no filter of the chain is elsewhere.
	whole bool
}

// checkManager checks a connection manager that has limpet's filter.
func (c *checker) checkManager(m value) {
	ch := c.readChain(m.get("http_filters"))
	if ch.limpet < 0 || ch.native {
		c.strays = append(c.strays, ch)
	}
	switch {
	case ch.native:
		c.checkTable(m, &ch, parts{})
	case ch.limpet >= 0:
		c.checkTable(m, &ch, c.findParts(&ch))
	}
}

// readChain reads the filters, and limpet's configuration.
func (c *checker) readChain(list value) chain {
	ch := chain{at: list, limpet: -1, whole: true}
	for i, f := range list.items() {
		config := f.get("typed_config")
		if discovered := f.get("config_discovery"); !discovered.missing() {
			config = c.discover(f)
			ch.whole = ch.whole && !config.missing()
		}
		config, kind := config.message()
		ch.filters = append(ch.filters, filter{f, f.get("name").text(), kind, config, f.get("disabled").isTrue()})
		c.readFilter(&ch, i)
	}
	return ch
}

// readFilter notes a filter that is limpet's, and reads its configuration.
func (c *checker) readFilter(ch *chain, i int) {
	f := &ch.filters[i]
	text, is, native := "", false, f.kind == "DynamicModuleFilter"
	given := map[string]string{}
	var message value
	switch f.kind {
	case "Wasm":
		config := f.config.get("config")
		message = config.get("configuration")
		file := config.get("vm_config").get("code").get("local").get("filename").text()
		if is = isLimpets(file, config.get("name").text(), message); is {
			given = readEnvironment(config.get("vm_config").get("environment_variables"))
		}
	case "DynamicModuleFilter":
		message = f.config.get("filter_config")
		module := f.config.get("dynamic_module_config")
		is = isLimpets(module.get("module").get("local").get("filename").text(), module.get("name").text(), message)
	}
	if !is {
		return
	}
	if ch.limpet >= 0 {
		c.add(
			f.at,
			"Duplicate value: limpet's filter is at %s already: sessions can't have two masters",
			ch.filters[ch.limpet].at.path,
		)
		return
	}
	ch.limpet, ch.native = i, native
	text, ok := c.readMessage(message, native)
	if ok {
		ch.plugin = c.parse(message, text, given)
	}
	if variables := f.config.get("config").get("vm_config").get("environment_variables"); ch.plugin.sound && !native {
		c.checkVariables(variables, ch.plugin.config.Keys)
	}
}

// readEnvironment are the variables whose values are in the configuration.
func readEnvironment(v value) map[string]string {
	given := map[string]string{}
	names, values := v.get("key_values").fields()
	for i, name := range names {
		given[name] = values[i].text()
	}
	return given
}

// checkVariables: limpet.wasm sees no variable but those that its VM is given.
func (c *checker) checkVariables(v value, keys policyconfig.Keys) {
	name := keys.EnvironmentVariable()
	_, given := readEnvironment(v)[name]
	if name != "" && !given && !slices.Contains(v.get("host_env_keys").texts(), name) {
		c.add(
			v.get("host_env_keys"),
			"Required value: %q, which has the key ring or the root secret: limpet.wasm sees no other variable of "+
				"Envoy's",
			name,
		)
	}
}

// parts are what limpet.wasm needs around it, by their places in the chain; -1 for none.
type parts struct{ fence, pin, backends int }

// findParts finds the fence and the pin, and says what is wrong with them.
func (c *checker) findParts(ch *chain) parts {
	p := parts{c.findFence(ch), c.findPin(ch), -1}
	header := ch.pinHeader()
	limpet := ch.filters[ch.limpet].at
	switch {
	case p.fence < 0 && ch.whole:
		c.add(
			limpet,
			"no fence: put header_mutation in front, with {remove: %s} in request_mutations and response_mutations: "+
				"on routes without a policy, and wherever the filter does not run, clients else choose their host and see it",
			header,
		)
	case p.fence > ch.limpet:
		c.add(
			ch.filters[p.fence].at,
			"the fence is behind limpet: put it in front, for here it takes limpet's own pin away, or lets the "+
				"client's in",
		)
	}
	if p.pin >= 0 && p.pin < ch.limpet {
		c.add(
			ch.filters[p.pin].at,
			"stateful_session is in front of limpet: put it behind, or it pins before limpet has said where",
		)
	}
	for i := ch.limpet + 1; p.fence >= 0 && p.fence < ch.limpet && i < p.pin; i++ {
		if requests, responses := removes(ch.filters[i].config.get("mutations"), header); requests || responses {
			c.add(ch.filters[i].at, "this filter removes %s between limpet and stateful_session: no session sticks", header)
		}
	}
	c.checkWithin(ch, &p)
	return p
}

func (ch *chain) pinHeader() string {
	return cmp.Or(ch.plugin.config.PinHeader, policyconfig.DefaultPinHeader)
}

func (ch *chain) backendHeader() string { return policyconfig.BackendHeader(ch.pinHeader()) }

// checkStrays: a filter that reads limpet's pins has limpet.wasm in front of it, or clients pin themselves.
func (c *checker) checkStrays() {
	for _, ch := range c.strays {
		for i, f := range ch.filters {
			header := strings.ToLower(sessionHeader(f.config))
			if !ch.whole || !slices.Contains(c.pins, header) {
				continue
			}
			isFence := func(before filter) bool {
				requests, _ := removes(before.config.get("mutations"), header)
				return requests
			}
			switch fenced := slices.ContainsFunc(ch.filters[:i], isFence); {
			case !fenced:
				c.add(
					f.at,
					"neither a fence nor limpet.wasm is in front: clients choose their host with %s, and see it; remove the "+
						"filter, or put both in front",
					header,
				)
			case !ch.native:
				c.add(f.at, "limpet.wasm is not in front, so that nothing pins here: put it between the fence and this filter")
			}
		}
	}
}
