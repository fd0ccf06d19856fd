package plugincheck

import (
	"slices"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// policed is a route and its policies.
type policed struct {
	place
	policies []policyconfig.Policy
}

// checkCookies checks the policies of a virtual host against each other: there a client has one cookie of a name and
// path.
func (t *table) checkCookies(routes []policed) {
	var seen []policyconfig.Policy
	led := map[string]place{} // by the name of a policy that has a route here
	for _, p := range routes {
		for i := range p.policies {
			policy := &p.policies[i]
			if first, again := led[policy.Name]; again {
				t.checkSameHosts(policy, first, p.place)
				continue
			}
			t.checkOneCookie(p.place, seen, policy)
			led[policy.Name] = p.place
			seen = append(seen, *policy)
		}
	}
}

// checkOneCookie reports policies with one cookie: they take each other's tokens away, unless they share their
// sessions.
func (t *table) checkOneCookie(p place, others []policyconfig.Policy, policy *policyconfig.Policy) {
	for i := range others {
		if o := &others[i]; haveOneCookie(policy, o) && o.Scope != policy.Scope {
			t.addOnce(
				p.route,
				"policy %q has the sessionName %q and the path %q, and so has policy %q in this virtual host: each "+
					"takes the other's sessions away; give each a name or a path of its own",
				policy.Name,
				policy.SessionName,
				policy.Cookie.Path,
				o.Name,
			)
		}
	}
}

// haveOneCookie tells whether clients hold the cookies of two policies as one. With an envelope the application chooses
// the path.
func haveOneCookie(a, b *policyconfig.Policy) bool {
	return a.Type == policyconfig.TypeCookie && b.Type == policyconfig.TypeCookie && !a.Envelope && !b.Envelope &&
		a.SessionName == b.SessionName && a.Cookie.Path == b.Cookie.Path && a.Cookie.Domain == b.Cookie.Domain
}

// checkSameHosts reports a policy on two routes whose clusters have no host in common: no session can stay on its host.
// A policy with leads sends its requests to the right route.
func (t *table) checkSameHosts(policy *policyconfig.Policy, first, second place) {
	if policy.Leads != nil {
		return
	}
	if policy.Type == policyconfig.TypeCookie && (policy.Envelope || policy.Cookie.Path != "/") {
		return // the client may send it to one of them alone
	}
	for _, one := range first.clusterNames() {
		for _, other := range second.clusterNames() {
			if holds(policy, one) && holds(policy, other) && t.areApart(one, other) {
				t.addOnce(
					second.route,
					"policy %q is for a route to cluster %q too, which has none of the hosts of %q: a session moves whenever its "+
						"client goes from one to the other; give each route a policy and a sessionName of its own",
					policy.Name,
					one,
					other,
				)
			}
		}
	}
}

// areApart tells whether two clusters are known to have no host in common.
func (t *table) areApart(one, other string) bool {
	a, b := addresses(t.clusters[one]), addresses(t.clusters[other])
	has := func(address string) bool { return slices.Contains(b, address) }
	return len(a) > 0 && len(b) > 0 && !slices.ContainsFunc(a, has)
}

// addresses are those of a cluster's endpoints, as the input has them.
func addresses(cluster value) (all []string) {
	for _, locality := range cluster.get("load_assignment").get("endpoints").items() {
		for _, e := range locality.get("lb_endpoints").items() {
			socket := e.get("endpoint").get("address").get("socket_address")
			all = append(all, socket.get("address").text()+":"+socket.get("port_value").text())
		}
	}
	return all
}
