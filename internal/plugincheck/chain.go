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

// removes tells whether a header_mutation removes a header from requests, and from responses.
func removes(mutations value, header string) (requests, responses bool) {
	return isRemoved(mutations.get("request_mutations"), header), isRemoved(mutations.get("response_mutations"), header)
}

// isRemoved tells whether one of a list of mutations removes a header.
func isRemoved(list value, header string) bool {
	return slices.ContainsFunc(
		list.items(),
		func(m value) bool { return strings.EqualFold(m.get("remove").text(), header) },
	)
}

// findFence finds the first filter that removes the pin header.
func (c *checker) findFence(ch *chain) int {
	header := ch.pinHeader()
	for i := range ch.filters {
		f := &ch.filters[i]
		if f.kind != "HeaderMutation" {
			continue
		}
		mutations := f.config.get("mutations")
		requests, responses := removes(mutations, header)
		if !requests && !responses {
			continue
		}
		if !requests {
			c.add(
				mutations.get("request_mutations"),
				"Required value: {remove: %s} (pinHeader): clients else choose their host",
				header,
			)
		}
		if !responses {
			c.add(
				mutations.get("response_mutations"),
				"Required value: {remove: %s} (pinHeader): clients else see their host's address",
				header,
			)
		}
		return i
	}
	return -1
}

// findPin finds the stateful_session filter that carries limpet's pins.
func (c *checker) findPin(ch *chain) int {
	found := -1
	for i := range ch.filters {
		if ch.filters[i].kind != "StatefulSession" {
			continue
		}
		found = i
		if strings.EqualFold(sessionHeader(ch.filters[i].config), ch.pinHeader()) {
			return i
		}
	}
	if found < 0 {
		if ch.whole {
			c.add(
				ch.filters[ch.limpet].at,
				"no stateful_session filter is behind limpet: no session sticks; it needs the session state "+
					"envoy.http.stateful_session.header with the name %s",
				ch.pinHeader(),
			)
		}
		return -1
	}
	c.checkState(ch, ch.filters[found].config.get("session_state"))
	return found
}

// sessionHeader is the header that a stateful_session filter reads and writes; empty for another session state.
func sessionHeader(config value) string {
	state, kind := config.get("session_state").get("typed_config").message()
	if kind != "HeaderBasedSessionState" {
		return ""
	}
	return state.get("name").text()
}

// checkState says why a session state does not carry limpet's pins.
func (c *checker) checkState(ch *chain, state value) {
	config, kind := state.get("typed_config").message()
	if kind != "HeaderBasedSessionState" {
		c.add(
			state,
			"Unsupported value: %q: Envoy pins by itself with this, and limpet's tokens mean nothing; supported values: "+
				"\"HeaderBasedSessionState\", of envoy.http.stateful_session.header",
			kind,
		)
		return
	}
	if name := config.get("name"); !strings.EqualFold(name.text(), ch.pinHeader()) {
		c.add(name, "Invalid value: %q: must be pinHeader, %q", name.text(), ch.pinHeader())
	}
}

// checkWithin: sessions that stay in their backend need a filter more, and a fence for its header.
func (c *checker) checkWithin(ch *chain, p *parts) {
	header := ch.backendHeader()
	stays := func(p policyconfig.Policy) bool { return p.OnHostLost == policyconfig.RebalanceWithin }
	if !slices.ContainsFunc(ch.plugin.config.Policies, stays) {
		return
	}
	for i := range ch.filters {
		reads := func(rule value) bool { return strings.EqualFold(rule.get("header").text(), header) }
		if f := &ch.filters[i]; f.kind == "Config" && slices.ContainsFunc(f.config.get("request_rules").items(), reads) {
			p.backends = i
		}
	}
	if p.backends < ch.limpet && ch.whole {
		c.add(
			ch.filters[ch.limpet].at,
			"onHostLost RebalanceWithin needs header_to_metadata behind limpet, which takes %s into the metadata "+
				"envoy.lb, limpet.backend",
			header,
		)
	}
	if p.fence < 0 {
		return
	}
	mutations := ch.filters[p.fence].config.get("mutations")
	if requests, _ := removes(mutations, header); !requests {
		c.add(mutations.get("request_mutations"), "Required value: {remove: %s}: clients else choose their backend", header)
	}
}
