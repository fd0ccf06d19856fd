package plugincheck

import (
	"cmp"
	"slices"
	"strings"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// checkReturns: a cookie that browsers drop, or send back with no request of its policy, begins a new session each
// time. It is told at the first of the policy's routes in a virtual host.
func (t *table) checkReturns(routes []policed) {
	var checked []string
	for _, p := range routes {
		for i := range p.policies {
			policy := &p.policies[i]
			if policy.Type != policyconfig.TypeCookie || policy.Envelope || slices.Contains(checked, policy.Name) {
				continue // in an envelope the application says domain and path
			}
			checked = append(checked, policy.Name)
			t.checkDomain(p.place, policy)
			mayReturn := func(other policed) bool {
				isIts := func(o policyconfig.Policy) bool { return o.Name == policy.Name }
				return slices.ContainsFunc(other.policies, isIts) && mayBeBelow(other.route.get("match"), policy.Cookie.Path)
			}
			if !slices.ContainsFunc(routes, mayReturn) {
				t.add(
					p.route,
					"policy %q has the cookie path %q, and no request for its routes here is below it: browsers do not send the "+
						"cookie back, unless a proxy before this one changes paths; write the path of its requests, or /",
					policy.Name,
					policy.Cookie.Path,
				)
			}
		}
	}
}

// checkDomain is about a domain that browsers accept from none of a virtual host's hosts.
func (t *table) checkDomain(p place, policy *policyconfig.Policy) {
	domain, hosts := strings.ToLower(policy.Cookie.Domain), p.host.get("domains").texts()
	mayTake := func(host string) bool {
		name, _, _ := strings.Cut(strings.ToLower(host), ":")
		ending, isWildcard := strings.CutPrefix(name, "*")
		below := strings.HasSuffix("."+name, "."+domain)
		return below || strings.HasSuffix(name, "*") || isWildcard && strings.HasSuffix("."+domain, ending)
	}
	if domain != "" && !slices.ContainsFunc(hosts, mayTake) {
		t.add(
			p.route,
			"policy %q has the cookie domain %q, and none of the hosts here (%s) is below it: browsers drop the cookie, "+
				"unless a proxy before this one changes hosts",
			policy.Name,
			policy.Cookie.Domain,
			strings.Join(hosts, ", "),
		)
	}
}

// mayBeBelow tells whether some request that a route matches is for a path for which browsers send a cookie (RFC 6265,
// section 5.1.4).
func mayBeBelow(match value, cookie string) bool {
	exact := match.get("path").text()
	prefix := cmp.Or(match.get("prefix").text(), match.get("path_separated_prefix").text())
	if match.get("case_sensitive").text() == "false" {
		exact, prefix, cookie = strings.ToLower(exact), strings.ToLower(prefix), strings.ToLower(cookie)
	}
	covers := func(path string) bool {
		return path == cookie || strings.HasPrefix(path, strings.TrimSuffix(cookie, "/")+"/")
	}
	switch {
	case cookie == "":
		return true // the client takes the request's own
	case exact != "":
		return covers(exact)
	case prefix != "":
		return covers(prefix) || strings.HasPrefix(cookie, prefix)
	}
	return true // no prefix is known
}
