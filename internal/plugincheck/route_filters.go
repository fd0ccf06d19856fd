package plugincheck

import (
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// checkFence: wherever stateful_session runs, the fence must too.
func (t *table) checkFence(p place, policed bool) {
	if t.chain.native || t.parts.pin < 0 || !t.enabled(p, t.parts.pin) {
		return
	}
	if t.parts.fence >= 0 && !t.enabled(p, t.parts.fence) {
		t.addOnce(p.where(), "the fence, %q, is off and %q is on: clients choose their host here and see it",
			t.chain.filters[t.parts.fence].name, t.chain.filters[t.parts.pin].name)
	}
	if policed {
		t.checkRemoved(p)
	}
}

// checkRemoved: the pin goes no further than the filters.
func (t *table) checkRemoved(p place) {
	header := t.chain.pinHeader()
	for _, removal := range [][2]string{
		{"request_headers_to_remove", "backends else get it"},
		{"response_headers_to_remove", "a backend that sends it else chooses the host of its client's session"},
	} {
		field, why := removal[0], removal[1]
		has := func(level value) bool { return containsFold(level.get(field).texts(), header) }
		if !slices.ContainsFunc(p.levels(), has) {
			t.addOnce(p.table.get(field), "Required value: %q (pinHeader): "+why, header)
		}
	}
}

// containsFold tells whether a list has a header, in whatever case: Envoy makes all of them small.
func containsFold(names []string, header string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, header) })
}

// checkOn: a route with a policy needs limpet and what pins.
func (t *table) checkOn(p place) {
	needed := []int{t.chain.limpet}
	if !t.chain.native && t.parts.pin >= 0 {
		needed = append(needed, t.parts.pin)
	}
	for _, i := range needed {
		if !t.enabled(p, i) {
			t.add(
				p.where(),
				"%q is disabled here, and the route has a policy: enable it with typed_per_filter_config",
				t.chain.filters[i].name,
			)
		}
	}
	t.checkOthers(p)
	if t.chain.native || t.parts.pin < 0 {
		return
	}
	pin := &t.chain.filters[t.parts.pin]
	for _, level := range p.levels() {
		if own := pin.settings(level).get("stateful_session"); !own.missing() {
			if !strings.EqualFold(sessionHeader(own), t.chain.pinHeader()) {
				t.checkState(t.chain, own.get("session_state"))
			}
			return
		}
	}
}

// checkOthers: of two filters that pin the last one decides, and where limpet's has nothing to say the other does.
func (t *table) checkOthers(p place) {
	for i, f := range t.chain.filters {
		isPin := i == t.parts.pin && !t.chain.native || strings.EqualFold(sessionHeader(f.config), t.chain.pinHeader())
		if f.kind == "StatefulSession" && !isPin && t.enabled(p, i) {
			t.add(
				p.where(),
				"%q is on here, and the route has a policy: it pins by what the client sends and no key signs, so that clients "+
					"choose their host; disable it here",
				f.name,
			)
		}
	}
}

// holds tells whether a policy is for requests to a cluster.
func holds(p *policyconfig.Policy, cluster string) bool {
	return len(p.Clusters) == 0 || slices.Contains(p.Clusters, cluster)
}
