package plugincheck

import (
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

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
