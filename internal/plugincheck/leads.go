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
	// value is the value of the header that the route matches; empty for a route with weights. match is what else it
	// matches.
	value, match string
	// leads are those of its policy to its clusters.
	leads []placedLead
}

// placedLead is a lead, and its place among those of its policy.
type placedLead struct {
	policyconfig.Lead
	place int
}

// isFor tells whether it is for sessions at one of a split's backends.
func (r *ledRoute) isFor(weighted *ledRoute) bool {
	its := func(l placedLead) bool { return l.Value() == r.value }
	return r.value != "" && r.host.node == weighted.host.node && slices.ContainsFunc(weighted.leads, its)
}

// checkRevoked: a tag that no lead has revokes nobody's sessions. Those of a scope are of all of its policies.
func (c *checker) checkRevoked(at value, policies []policyconfig.Policy) {
	tags := map[string][]uint32{} // by scopes
	for i := range policies {
		for _, l := range readLeads(&policies[i]) {
			tags[policies[i].Scope] = append(tags[policies[i].Scope], l.Backend)
		}
	}
	for i, p := range policies {
		for j, text := range p.Revocation.Backends {
			b, err := policyconfig.ParseRevokedBackend(text)
			if err == nil && !slices.Contains(tags[p.Scope], b.Tag) {
				c.add(
					at,
					"policies[%d].revocation.backends[%d]: Not found: %q: no item of leads has this tag, so that no session is "+
						"void by it; copy the tag of the backend from leads",
					i,
					j,
					text,
				)
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
		t.add(
			early,
			"Required value: envoy.http.early_header_mutation.header_mutation with {remove: %s}: wherever limpet does not "+
				"run clients else choose their backend, for a filter that removes the header comes after the choice of the route",
			header,
		)
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
	routes := t.listLed(p) // none: they are elsewhere, or checkNames says so
	backends, reported := map[string]uint32{}, map[string]bool{}
	for _, l := range readLeads(p) {
		backends[l.Cluster] = l.Backend
	}
	for i := range routes {
		t.checkLedRoute(p, &routes[i], backends, reported)
	}
	for i := range routes {
		if routes[i].value == "" {
			t.checkCopies(number, p, &routes[i], routes)
		}
	}
}

// checkLedRoute checks a route that the header selects: it must lead to the cluster of the header's backend alone, for
// the filter tells the backend by the cluster. It reports once that a cluster has no lead.
func (t *table) checkLedRoute(
	p *policyconfig.Policy,
	r *ledRoute,
	backends map[string]uint32,
	reported map[string]bool,
) {
	led, err := policyconfig.ParseLead("x " + r.value)
	for _, d := range r.destinations() {
		name := d.clusterName()
		tag, known := backends[name]
		switch {
		case known && err == nil && tag != led.Backend:
			t.add(
				d.where(),
				"cluster %q is of another backend than the header's value %q, by leads of policy %q: sessions change their "+
					"backend here",
				name,
				r.value,
				p.Name,
			)
		case !known && name != "" && !reported[name]:
			reported[name] = true
			t.add(
				d.where(),
				"cluster %q has no item in leads of policy %q: sessions that begin there go by the weights on every request; add "+
					"\"%s TAGS\", with those of its backend",
				name,
				p.Name,
				name,
			)
		}
	}
}

// checkCopies: each backend of a route with weights has a route of the same virtual host to which its sessions are led.
// Of two routes for a request Envoy takes the first.
func (t *table) checkCopies(number int, p *policyconfig.Policy, weighted *ledRoute, routes []ledRoute) {
	for _, l := range weighted.leads {
		value := l.Value()
		same := func(r ledRoute) bool { return r.value == value && r.isFor(weighted) }
		if value != "" && !slices.ContainsFunc(routes, same) {
			t.addOnce(
				t.chain.plugin.at.get("value"),
				"policies[%d].leads[%d]: Not found: no route of the policy matches the header %s with %q: "+
					"sessions of this backend go by the weights; add one that leads to it, in front of the route with the weights",
				number,
				l.place,
				t.chain.backendHeader(),
				value,
			)
		}
	}
	for _, led := range routes {
		if led.value != "" && led.host.node == weighted.host.node && led.index > weighted.index &&
			led.match == weighted.match {
			t.add(led.route, "stands behind the route with the weights, %q, which takes all of its requests: put it in front",
				weighted.route.get("name").text())
		}
		others := func(r ledRoute) bool { return r.value == "" && r.match == led.match && led.isFor(&r) }
		if led.isFor(weighted) && (led.match == weighted.match || !slices.ContainsFunc(routes, others)) {
			t.checkLedSettings(p, led, *weighted)
		}
	}
}

// checkLeadClusters: a lead tells a backend's sessions by its cluster, to which some route of the policy leads, in
// whichever table.
func (t *table) checkLeadClusters(number int, p *policyconfig.Policy) {
	if p.Leads == nil {
		return
	}
	var clusters []string
	for _, other := range t.checked {
		if !slices.ContainsFunc(
			other.chain.plugin.config.Policies,
			func(o policyconfig.Policy) bool { return o.Name == p.Name },
		) {
			continue
		}
		if other.open {
			return
		}
		for _, r := range other.listLed(p) {
			clusters = append(clusters, r.allClusters()...)
		}
	}
	if len(clusters) == 0 || slices.Contains(clusters, "") {
		return
	}
	for j, l := range readLeads(p) {
		if !slices.Contains(clusters, l.Cluster) {
			t.addOnce(
				t.chain.plugin.at.get("value"),
				"policies[%d].leads[%d]: Not found: %q: no route of the policy leads to this cluster%s",
				number,
				j,
				l.Cluster,
				suggest.DidYouMean(l.Cluster, clusters),
			)
		}
	}
}

// allClusters are where a route leads to, at weight 0 too; "" for where the request says.
func (r *ledRoute) allClusters() (names []string) {
	for _, one := range r.route.get("route").get("weighted_clusters").get("clusters").items() {
		names = append(names, one.get("name").text())
	}
	if names == nil {
		names = append(names, r.route.get("route").get("cluster").text())
	}
	return names
}

// checkLedSettings: filters behind limpet see the settings of the route to which a session is led.
func (t *table) checkLedSettings(p *policyconfig.Policy, led, weighted ledRoute) {
	names, _ := weighted.route.get("typed_per_filter_config").fields()
	own := led.route.get("typed_per_filter_config")
	for _, name := range names {
		at := slices.IndexFunc(t.chain.filters, func(f filter) bool { return f.name == name })
		if at > t.chain.limpet && own.get(name).missing() {
			t.addOnce(
				own,
				"Required value: %q, as route %q has it: the filter is behind limpet, so that requests with a session of policy "+
					"%q go without; or put it in front of limpet",
				name,
				weighted.route.get("name").text(),
				p.Name,
			)
		}
	}
}

// listLed are the routes of a policy, in order.
func (t *table) listLed(p *policyconfig.Policy) (all []ledRoute) {
	leads := readLeads(p)
	for _, host := range t.hosts {
		for i, route := range routesOf(host.host) {
			if !slices.Contains(p.Routes, route.get("name").text()) || route.get("route").missing() {
				continue
			}
			r := ledRoute{
				place: place{host.table, host.host, route, value{}}, index: i,
				value: t.leadValue(route), match: t.matchWithoutLead(route),
			}
			clusters := r.allClusters()
			for j, l := range leads {
				if slices.Contains(clusters, l.Cluster) {
					r.leads = append(r.leads, placedLead{l, j})
				}
			}
			all = append(all, r)
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
