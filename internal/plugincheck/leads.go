package plugincheck

import (
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/suggest"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// ledRoute is a route of a policy that leads sessions, and its place among those of its virtual host.
type ledRoute struct {
	place
	index int
	// value is that of the header which it matches; empty for the route with the weights.
	value string
}

// checkRevoked: a tag that no lead has revokes nobody's sessions.
func (c *checker) checkRevoked(at value, policies []policyconfig.Policy) {
	for i := range policies {
		leads := readLeads(&policies[i])
		for j, text := range policies[i].Revocation.Backends {
			b, err := policyconfig.ParseRevokedBackend(text)
			if err == nil && !slices.ContainsFunc(leads, func(l policyconfig.Lead) bool { return l.Backend == b.Tag }) {
				c.add(at, "policies[%d].revocation.backends[%d]: Not found: %q: no item of leads has this tag, so that no session is void by it; "+
					"copy the tag of the backend from leads", i, j, text)
			}
		}
	}
}

func readLeads(p *policyconfig.Policy) (all []policyconfig.Lead) {
	for _, text := range p.Leads {
		if l, err := policyconfig.ParseLead(text); err == nil {
			all = append(all, l)
		}
	}
	return all
}

// checkLeads: sessions that are led to their backends need a route for each, and a header that no client may send.
func (t *table) checkLeads(manager value) {
	leads := func(p policyconfig.Policy) bool { return p.Leads != nil }
	if !slices.ContainsFunc(t.chain.plugin.config.Policies, leads) {
		return
	}
	header := t.chain.backendHeader()
	early := manager.get("early_header_mutation_extensions")
	removed := func(e value) bool {
		config, _ := e.get("typed_config").message()
		return isRemoved(config.get("mutations"), header)
	}
	if !slices.ContainsFunc(early.items(), removed) {
		t.add(early, "Required value: envoy.http.early_header_mutation.header_mutation with {remove: %s}: wherever limpet does not run clients "+
			"else choose their backend, for a filter that removes the header comes after the choice of the route", header)
	}
	if t.open {
		return
	}
	for i := range t.chain.plugin.config.Policies {
		if p := &t.chain.plugin.config.Policies[i]; leads(*p) {
			t.checkLed(i, p)
		}
	}
}

// checkLed checks one policy's leads against its routes.
func (t *table) checkLed(number int, p *policyconfig.Policy) {
	at := t.chain.plugin.at.get("value")
	routes := t.listLed(p)
	if len(routes) == 0 {
		return // elsewhere, or checkNames says so
	}
	backends, clusters, values := map[string]uint32{}, []string{}, []string{""}
	for _, r := range routes {
		clusters, values = append(clusters, r.clusterNames()...), append(values, r.value)
	}
	for j, l := range readLeads(p) {
		backends[l.Cluster] = l.Backend
		if !slices.Contains(clusters, l.Cluster) && !slices.Contains(clusters, "") {
			t.add(at, "policies[%d].leads[%d]: Not found: %q: no route of the policy leads to this cluster%s", number, j, l.Cluster,
				suggest.DidYouMean(l.Cluster, clusters))
		}
		if !slices.Contains(values, l.Value()) {
			values = append(values, l.Value()) // which is said once
			t.add(at, "policies[%d].leads[%d]: Not found: no route of the policy matches the header %s with %q: sessions of this backend go by "+
				"the weights; add one that leads to it, in front of the route with the weights", number, j, t.chain.backendHeader(), l.Value())
		}
	}
	for _, r := range routes {
		t.checkLedRoute(p, r, backends)
	}
	t.checkLedOrder(p, routes)
}

// checkLedRoute: the filter tells a session's backend by the cluster, and a route that the header leads to has that backend's alone.
func (t *table) checkLedRoute(p *policyconfig.Policy, r ledRoute, backends map[string]uint32) {
	led, err := policyconfig.ParseLead("x " + r.value)
	for _, d := range r.destinations() {
		tag, known := backends[d.clusterName()]
		switch {
		case known && err == nil && tag != led.Backend:
			t.add(d.where(), "cluster %q is of another backend than the header's value %q, by leads of policy %q: sessions change their backend "+
				"here", d.clusterName(), r.value, p.Name)
		case !known && d.clusterName() != "":
			t.add(d.where(), "cluster %q has no item in leads of policy %q: sessions that begin there go by the weights on every request; add "+
				"\"%s TAGS\", with those of its backend", d.clusterName(), p.Name, d.clusterName())
		}
	}
}

// checkLedOrder: of two routes for a request Envoy takes the first, and what refuses requests behind limpet goes by the route of then.
func (t *table) checkLedOrder(p *policyconfig.Policy, routes []ledRoute) {
	for _, weighted := range routes {
		if weighted.value != "" {
			continue
		}
		for _, led := range routes {
			if led.value == "" || led.host.node != weighted.host.node {
				continue
			}
			if led.index > weighted.index && t.matchWithoutLead(led.route) == t.matchWithoutLead(weighted.route) {
				t.add(led.route, "stands behind the route with the weights, %q, which takes all of its requests: put it in front",
					weighted.route.get("name").text())
			}
			t.checkLedSettings(p, led, weighted)
		}
	}
}

// checkLedSettings: filters behind limpet see the settings of the route to which a session is led.
func (t *table) checkLedSettings(p *policyconfig.Policy, led, weighted ledRoute) {
	names, _ := weighted.route.get("typed_per_filter_config").fields()
	own := led.route.get("typed_per_filter_config")
	for _, name := range names {
		at := slices.IndexFunc(t.chain.filters, func(f filter) bool { return f.name == name })
		if at > t.chain.limpet && own.get(name).missing() {
			t.add(own, "Required value: %q, as route %q has it: the filter is behind limpet, so that requests with a session of policy %q go "+
				"without; or put it in front of limpet", name, weighted.route.get("name").text(), p.Name)
		}
	}
}

// listLed are the routes of a policy, in order.
func (t *table) listLed(p *policyconfig.Policy) (all []ledRoute) {
	for _, host := range t.hosts {
		for i, route := range routesOf(host.host) {
			if slices.Contains(p.Routes, route.get("name").text()) && !route.get("route").missing() {
				all = append(all, ledRoute{place{host.table, host.host, route, value{}}, i, t.leadValue(route)})
			}
		}
	}
	return all
}

// leadValue is the value of the header that a route matches, empty for none.
func (t *table) leadValue(route value) string {
	for _, h := range route.get("match").get("headers").items() {
		if strings.EqualFold(h.get("name").text(), t.chain.backendHeader()) {
			return h.get("string_match").get("exact").text()
		}
	}
	return ""
}

// matchWithoutLead is what else a route matches, as text.
func (t *table) matchWithoutLead(route value) string {
	var b strings.Builder
	names, values := route.get("match").fields()
	for i, name := range names {
		if name != "headers" {
			b.WriteString(name + "=" + values[i].flat() + "\n")
			continue
		}
		for _, h := range values[i].items() {
			if !strings.EqualFold(h.get("name").text(), t.chain.backendHeader()) {
				b.WriteString(h.flat() + "\n")
			}
		}
	}
	return b.String()
}
