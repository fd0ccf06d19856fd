package plugincheck

import (
	"slices"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/internal/suggest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// table is a connection manager's route configuration as it is checked.
type table struct {
	*checker
	chain *chain
	parts parts
	// names are those of all its routes.
	names []string
}

// place is a route and what encloses it, from without to within.
type place struct {
	table, host, route value
}

func (p place) levels() []value { return []value{p.route, p.host, p.table} }

// checkTable checks the routes of a connection manager.
func (c *checker) checkTable(m value, ch *chain, parts parts) {
	config := m.get("route_config")
	if rds := m.get("rds"); !rds.missing() {
		name := rds.get("route_config_name").text()
		if config = c.tables[name]; config.missing() {
			c.unseen("the route configuration %q", name)
			return
		}
	}
	if config.missing() {
		return
	}
	t := &table{checker: c, chain: ch, parts: parts}
	t.checkKeys(config)
	for _, host := range config.get("virtual_hosts").items() {
		t.checkKeys(host)
		for _, route := range host.get("routes").items() {
			t.names = append(t.names, route.get("name").text())
			t.checkKeys(route)
			t.checkRoute(place{config, host, route})
		}
	}
	t.checkNames()
}

// checkNames: a policy for a route that there is not does nothing.
func (t *table) checkNames() {
	policies := t.chain.plugin.at.get("value")
	for i := range t.chain.plugin.config.Policies {
		for j, name := range t.chain.plugin.config.Policies[i].Routes {
			if !slices.Contains(t.names, name) {
				t.add(policies, "policies[%d].routes[%d]: Not found: %q: no route of the route configuration has this name%s",
					i, j, name, suggest.DidYouMean(name, t.names))
			}
		}
	}
}

// canonical are the names that Envoy's documentation has for filters that limpet needs, with their configurations' types.
var canonical = map[string]string{
	"envoy.filters.http.wasm": "Wasm", "envoy.filters.http.dynamic_modules": "DynamicModuleFilter",
	"envoy.filters.http.header_mutation": "HeaderMutation", "envoy.filters.http.stateful_session": "StatefulSession",
}

// checkKeys: Envoy ignores a route's settings for a filter whose name is another.
func (t *table) checkKeys(level value) {
	if !t.chain.whole {
		return
	}
	names, values := level.get("typed_per_filter_config").fields()
	for i, name := range names {
		has := func(f filter) bool { return f.name == name }
		if slices.ContainsFunc(t.chain.filters, has) {
			continue
		}
		var same []string
		for _, f := range t.chain.filters {
			if f.kind == canonical[name] || strings.EqualFold(f.name, name) {
				same = append(same, f.name)
			}
		}
		if len(same) > 0 {
			t.add(values[i], "Invalid value: no filter has this name, so Envoy ignores it; the filter is called %s", strconv.Quote(same[0]))
		}
	}
}

// enabled tells whether a filter is on for a route.
func (t *table) enabled(p place, i int) bool {
	f := &t.chain.filters[i]
	for _, level := range p.levels() {
		v := level.get("typed_per_filter_config").get(f.name)
		if !v.missing() {
			return !v.get("disabled").isTrue()
		}
	}
	return !f.disabled
}

// checkRoute checks a route that leads to hosts.
func (t *table) checkRoute(p place) {
	action := p.route.get("route")
	if action.missing() {
		return
	}
	policies, known := t.policies(p.route)
	if !known {
		return
	}
	t.checkFence(p, len(policies) > 0)
	if len(policies) == 0 {
		return
	}
	t.checkOn(p)
	t.checkClusters(action, policies)
	for i := range policies {
		if policies[i].OnHostLost == policyconfig.Fail {
			t.checkFail(p, &policies[i])
		}
	}
}

// policies are a route's: those of the plugin that name it, or those that come with it.
func (t *table) policies(route value) (policies []policyconfig.Policy, known bool) {
	name := route.get("name").text()
	if prefix, _, travels := policyconfig.CutIdentity(name); travels {
		text := route.get("metadata").get("filter_metadata").get(policyconfig.RouteMetadata).get(policyconfig.RouteField)
		_, policies := policyconfig.CutKeys(text.text())
		list, errs := policyconfig.ParseRoute(policies, prefix, t.chain.pinHeader())
		for _, e := range errs {
			t.add(text, "%s", e)
		}
		t.Policies += len(list)
		return list, len(errs) == 0
	}
	for _, p := range t.chain.plugin.config.Policies {
		if slices.Contains(p.Routes, name) {
			policies = append(policies, p)
		}
	}
	return policies, true
}

// checkFence: wherever stateful_session runs, the fence must too.
func (t *table) checkFence(p place, policed bool) {
	if t.chain.native || t.parts.pin < 0 || !t.enabled(p, t.parts.pin) {
		return
	}
	if t.parts.fence >= 0 && !t.enabled(p, t.parts.fence) {
		t.add(p.route, "the fence, %q, is off and %q is on: clients choose their host here and see it",
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
		levels := append(p.levels(), p.route.get("route").get("weighted_clusters").get("clusters").items()...)
		if !slices.ContainsFunc(levels, has) {
			t.addOnce(p.table.get(field), "Required value: %q (pinHeader): "+why, header)
		}
	}
}

// containsFold tells whether a list has a header, in whatever case: Envoy makes all of them small.
func containsFold(names []string, header string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, header) })
}

// addOnce is add for what many routes have in common.
func (t *table) addOnce(at value, format string, args ...any) {
	before := len(t.Problems)
	t.add(at, format, args...)
	if last := t.Problems[before]; slices.Contains(t.Problems[:before], last) {
		t.Problems = t.Problems[:before]
	}
}

// checkOn: a route with a policy needs limpet and what pins.
func (t *table) checkOn(p place) {
	needed := []int{t.chain.limpet}
	if !t.chain.native && t.parts.pin >= 0 {
		needed = append(needed, t.parts.pin)
	}
	for _, i := range needed {
		if !t.enabled(p, i) {
			t.add(p.route, "%q is disabled here, and the route has a policy: enable it with typed_per_filter_config", t.chain.filters[i].name)
		}
	}
	if t.chain.native || t.parts.pin < 0 {
		return
	}
	name := t.chain.filters[t.parts.pin].name
	for _, level := range p.levels() {
		if own := level.get("typed_per_filter_config").get(name).get("stateful_session"); !own.missing() {
			if !strings.EqualFold(sessionHeader(own), t.chain.pinHeader()) {
				t.checkState(t.chain, own.get("session_state"))
			}
			return
		}
	}
}

// checkClusters: a session's host is in one cluster.
func (t *table) checkClusters(action value, policies []policyconfig.Policy) {
	names := []string{action.get("cluster").text()}
	split := action.get("weighted_clusters").get("clusters")
	if !split.missing() {
		names = nil
		for _, cluster := range split.items() {
			if cluster.get("weight").text() != "0" {
				names = append(names, cluster.get("name").text())
			}
		}
	}
	for _, p := range policies {
		if len(p.Clusters) == 0 && len(names) > 1 {
			t.add(split, "policy %q is for all of them: a session moves whenever Envoy chooses a cluster that does not have its host; "+
				"make them localities of one cluster, or give each cluster a policy (clusters)", p.Name)
		}
		for _, name := range p.Clusters {
			if !slices.Contains(names, name) && split.missing() && names[0] != "" {
				t.add(action.get("cluster"), "Invalid value: policy %q is for the cluster %q alone%s", p.Name, name, suggest.DidYouMean(name, names))
			}
		}
	}
	for _, name := range names {
		t.checkAddresses(t.clusters[name], name)
	}
}

// checkAddresses: tokens hold IP addresses and ports.
func (t *table) checkAddresses(cluster value, name string) {
	for _, locality := range cluster.get("load_assignment").get("endpoints").items() {
		for _, e := range locality.get("lb_endpoints").items() {
			if address := e.get("endpoint").get("address"); !address.get("pipe").missing() {
				t.addOnce(address, "cluster %q serves a route with a policy: a token holds an IP address and a port, so no session begins on a "+
					"Unix socket", name)
			}
		}
	}
}
