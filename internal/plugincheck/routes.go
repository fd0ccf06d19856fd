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
	// names are those of all its routes, and clustersOf are the clusters of each; "" is one that a request names.
	names      []string
	clustersOf map[string][]string
	// hosts are its virtual hosts.
	hosts []place
	// open says that there are more of them than the input has.
	open bool
}

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
		if !m.get("scoped_routes").missing() {
			c.unseen("the route configurations of scoped_routes")
		}
		return
	}
	t := &table{checker: c, chain: ch, parts: parts, clustersOf: map[string][]string{}}
	if !config.get("vhds").missing() {
		t.open = true
		c.unseen("the virtual hosts that Envoy discovers (vhds)")
	}
	t.checkKeys(config)
	for _, host := range config.get("virtual_hosts").items() {
		t.checkKeys(host)
		t.hosts = append(t.hosts, place{table: config, host: host})
		var routes []policed
		for _, route := range routesOf(host) {
			t.checkKeys(route)
			p := place{table: config, host: host, route: route}
			routes = append(routes, policed{p, t.checkRoute(p)})
		}
		t.checkCookies(routes)
		t.checkReturns(routes)
	}
	t.checkLeads(m)
	c.checked = append(c.checked, t)
}

// routesOf are the routes of a virtual host, those in its tree of matches among them.
func routesOf(host value) []value {
	routes := host.get("routes").items()
	host.get("matcher").walk(func(v value) {
		switch v.typeName() {
		case "Route":
			routes = append(routes, v)
		case "RouteList":
			routes = append(routes, v.get("routes").items()...)
		}
	})
	return routes
}

// checkNames: a policy for a route or a cluster that there is not does nothing.
func (t *table) checkNames() {
	if t.open {
		return
	}
	policies := t.chain.plugin.at.get("value")
	for i, p := range t.chain.plugin.config.Policies {
		var clusters []string
		for j, name := range p.Routes {
			clusters = append(clusters, t.clustersOf[name]...)
			if !slices.Contains(t.names, name) && !t.isElsewhere(p.Name, name) {
				t.add(policies, "policies[%d].routes[%d]: Not found: %q: no route of the route configuration has this name%s",
					i, j, name, suggest.DidYouMean(name, t.names))
			}
		}
		t.checkLeadClusters(i, &t.chain.plugin.config.Policies[i])
		for j, name := range p.Clusters {
			if len(clusters) > 0 && !slices.Contains(clusters, name) && !slices.Contains(clusters, "") {
				t.add(policies, "policies[%d].clusters[%d]: Not found: %q: no route of the policy leads to this cluster%s",
					i, j, name, suggest.DidYouMean(name, clusters))
			}
		}
	}
}

// isElsewhere tells whether a policy has its route in another connection manager, whose filter has the policy too.
func (t *table) isElsewhere(policy, route string) bool {
	return slices.ContainsFunc(t.checked, func(other *table) bool {
		has := func(p policyconfig.Policy) bool { return p.Name == policy && slices.Contains(p.Routes, route) }
		return slices.Contains(other.names, route) && slices.ContainsFunc(other.chain.plugin.config.Policies, has)
	})
}

// canonical are the names that Envoy's documentation has for filters that limpet needs, with their configurations'
// types.
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
			t.add(
				values[i],
				"Invalid value: no filter has this name, so Envoy ignores it; the filter is called %s",
				strconv.Quote(same[0]),
			)
		}
	}
}

// enabled tells whether a filter is on for a route.
func (t *table) enabled(p place, i int) bool {
	f := &t.chain.filters[i]
	for _, level := range p.levels() {
		v := level.get("typed_per_filter_config").get(f.name)
		if !v.missing() {
			return !v.get("disabled").isTrue() && !f.settings(level).get("disabled").isTrue()
		}
	}
	return !f.disabled
}

// settings are those that a level has for a filter, without the FilterConfig that may be around them.
func (f *filter) settings(level value) value {
	v := level.get("typed_per_filter_config").get(f.name)
	if v.typeName() == "FilterConfig" {
		v = v.get("config")
	}
	v, _ = v.message()
	return v
}

// checkRoute checks a route, and gives its policies.
func (t *table) checkRoute(p place) []policyconfig.Policy {
	name := p.route.get("name").text()
	t.names = append(t.names, name)
	policies, known := t.policies(p.route)
	if !known {
		return nil
	}
	if p.route.get("route").missing() {
		for _, policy := range policies {
			t.add(p.route, "policy %q is for this route, which leads to no cluster: no session begins here", policy.Name)
		}
		return nil
	}
	t.clustersOf[name] = append(t.clustersOf[name], p.clusterNames()...)
	for _, d := range p.destinations() {
		holds := func(policy policyconfig.Policy) bool { return holds(&policy, d.clusterName()) }
		t.checkFence(d, len(policies) > 0)
		if slices.ContainsFunc(policies, holds) {
			t.checkOn(d)
		}
	}
	if len(policies) > 0 {
		t.checkClusters(p, policies)
	}
	for i := range policies {
		if policies[i].OnHostLost == policyconfig.Fail {
			t.checkFail(p, &policies[i])
		}
	}
	return policies
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

// checkClusters: a session's host is in one cluster.
func (t *table) checkClusters(p place, policies []policyconfig.Policy) {
	names := p.clusterNames()
	for i := range policies {
		isAnothers := func(cluster string) bool { return !holds(&policies[i], cluster) }
		if common := slices.DeleteFunc(slices.Clone(names), isAnothers); len(common) > 1 && policies[i].Leads == nil {
			t.add(
				p.route.get("route").get("weighted_clusters").get("clusters"),
				"policy %q is for %d of them: a session moves whenever Envoy chooses a cluster that does not have its host; "+
					"make them localities of one cluster, or give each cluster a policy (clusters)",
				policies[i].Name,
				len(common),
			)
		}
	}
	for _, name := range names {
		t.checkAddresses(t.clusters[name], name)
		t.checkStatuses(t.clusters[name], name)
	}
}

// checkAddresses: tokens hold IP addresses and ports.
func (t *table) checkAddresses(cluster value, name string) {
	for _, locality := range cluster.get("load_assignment").get("endpoints").items() {
		for _, e := range locality.get("lb_endpoints").items() {
			if address := e.get("endpoint").get("address"); !address.get("pipe").missing() {
				t.addOnce(
					address,
					"cluster %q serves a route with a policy: a token holds an IP address and a port, so no session begins on a "+
						"Unix socket",
					name,
				)
			}
		}
	}
}
