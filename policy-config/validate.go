package policyconfig

import (
	"strconv"
	"strings"
)

// checkConfig applies the rules that hold between fields. Those of single fields were applied while decoding.
func (d *decoder) checkConfig(c *Config) {
	d.checkKeys((*jsonPath)(nil).child("keys"), &c.Keys)
	if c.SessionDigest && !c.AccessLogFields {
		d.forbidden((*jsonPath)(nil).child("sessionDigest"), "may only be set with accessLogFields")
	}
	policies := (*jsonPath)(nil).child("policies")
	if c.Keys.Gateway != "" && len(c.Policies) > 0 {
		d.forbidden(
			policies,
			"may not be set together with keys.gateway: the keys of their scopes come with routes, and so must they",
		)
	}
	here := jsonPath{parent: policies}
	for i := range c.Policies {
		here.index = i
		d.checkPolicy(&here, &c.Policies[i], c.PinHeader)
	}
	d.checkNames(policies, c.Policies)
	d.checkRoutes(policies, c.Policies)
}

// checkKeys wants one source.
func (d *decoder) checkKeys(at *jsonPath, k *Keys) {
	if k.Ring != nil {
		if k.FromEnv != "" {
			d.forbidden(at.child("ring"), "may not be set together with fromEnv")
		}
		d.checkRing(at.child("ring"), k.Ring)
	}
	if k.Sealed != "" && (k.FromEnv != "" || k.Ring != nil) {
		d.forbidden(at.child("sealed"), "may not be set together with fromEnv or ring")
	}
	if k.Gateway != "" && (k.FromEnv != "" || k.Ring != nil || k.Sealed != "") {
		d.forbidden(at.child("gateway"), "may not be set together with fromEnv, ring or sealed")
	}
}

func (d *decoder) checkRing(at *jsonPath, ring *KeyRing) {
	keys := at.child("keys")
	for i, k := range ring.Keys {
		if k.NotBefore != 0 && k.NotAfter != 0 && k.NotBefore >= k.NotAfter {
			d.add(keys.item(i).child("notAfter"), "Invalid value: "+redacted+": must be after notBefore")
		}
		if k.NotBefore != 0 && ring.NotAfter != 0 && k.NotBefore >= ring.NotAfter {
			d.add(at.child("notAfter"), "Invalid value: "+redacted+": must be after the notBefore of "+keys.item(i).String())
		}
		for j := range i {
			if k.ID != "" && ring.Keys[j].ID == k.ID {
				d.add(keys.item(i).child("id"), "Duplicate value: "+redacted+": the id of "+keys.item(j).String())
			}
		}
	}
}

func (d *decoder) checkPolicy(at *jsonPath, p *Policy, pinHeader string) {
	if p.Type == TypeHeader {
		d.checkSessionHeader(at, p, pinHeader)
	} else if p.Cookie != nil {
		d.checkCookie(at, p.Cookie)
		d.checkCookieName(at, p)
	}
	d.checkEnvelope(at, p)
	if p.EndSessionHeader != "" && strings.EqualFold(p.EndSessionHeader, pinHeader) {
		d.invalid(at.child("endSessionHeader"), quote(p.EndSessionHeader), "must not be the pin header")
	}
	if p.AbsoluteTimeout != 0 && p.IdleTimeout > p.AbsoluteTimeout {
		d.invalid(
			at.child("idleTimeout"),
			quote(p.IdleTimeout.String()),
			"must not be longer than absoluteTimeout, "+p.AbsoluteTimeout.String(),
		)
	}
	if p.Cookie != nil && p.Cookie.LifetimeType == LifetimePermanent && p.AbsoluteTimeout == 0 {
		d.required(at.child("absoluteTimeout"), "cookie.lifetimeType is Permanent")
	}
}

// checkEnvelope: under envelope the application chooses the cookie's attributes, and so whether there is a second
// cookie.
func (d *decoder) checkEnvelope(at *jsonPath, p *Policy) {
	if p.Envelope && p.Cookie != nil && p.Cookie.CrossSite {
		d.forbidden(at.child("cookie").child("crossSite"), "may not be set together with envelope")
	}
	if p.Mirrored && p.Type == TypeHeader {
		d.forbidden(at.child("mirrored"), "may only be set with type Cookie")
	}
	if p.Cookie != nil && p.Cookie.CrossSite && len(p.SessionName)+len(CrossSiteSuffix) > MaxSessionName {
		d.invalid(at.child("sessionName"), quote(p.SessionName),
			"must leave room for "+CrossSiteSuffix+" in "+strconv.Itoa(MaxSessionName)+" characters")
	}
}

func (d *decoder) checkSessionHeader(at *jsonPath, p *Policy, pinHeader string) {
	if p.Cookie != nil {
		d.forbidden(at.child("cookie"), "may only be set with type Cookie")
	}
	if p.SessionName == "" {
		return
	}
	if err := checkHeader(p.SessionName); err != nil {
		d.invalid(at.child("sessionName"), quote(p.SessionName), err.Error())
	}
	if strings.EqualFold(p.SessionName, pinHeader) {
		d.invalid(at.child("sessionName"), quote(p.SessionName), "must not be the pin header")
	}
	if strings.EqualFold(p.SessionName, p.EndSessionHeader) {
		d.invalid(at.child("endSessionHeader"), quote(p.EndSessionHeader), "must not be the session's own header")
	}
}

// checkCookie applies RFC 6265bis, section 5.7, and CHIPS: what browsers would drop is refused.
func (d *decoder) checkCookie(at *jsonPath, c *Cookie) {
	if c.SameSite == SameSiteNone && !c.Secure {
		d.invalid(at.child("cookie").child("sameSite"), quote(string(c.SameSite)), "must not be used without secure")
	}
	if c.CrossSite && !c.Secure {
		d.invalid(at.child("cookie").child("crossSite"), "true", "must not be used without secure")
	}
	if c.Partitioned && !c.Secure {
		d.invalid(at.child("cookie").child("partitioned"), "true", "must not be used without secure")
	}
}

// checkCookieName applies the rules of the name's prefix.
func (d *decoder) checkCookieName(at *jsonPath, p *Policy) {
	for _, rule := range cookiePrefixes {
		if !hasPrefixFold(p.SessionName, rule.prefix) {
			continue
		}
		at, why := at.child("cookie"), "in a cookie whose name begins with "+rule.prefix
		if !p.Cookie.Secure {
			d.invalid(at.child("secure"), "false", "must be true "+why)
		}
		if rule.httpOnly && !p.Cookie.HTTPOnly {
			d.invalid(at.child("httpOnly"), "false", "must be true "+why)
		}
		if rule.hostOnly && p.Cookie.Path != "/" {
			d.invalid(at.child("path"), quote(p.Cookie.Path), `must be "/" `+why)
		}
		if rule.hostOnly && p.Cookie.Domain != "" {
			d.forbidden(at.child("domain"), "may not be set "+why)
		}
	}
}

func (d *decoder) checkNames(at *jsonPath, policies []Policy) {
	first := make(map[string]int, len(policies))
	for i := range policies {
		name := policies[i].Name
		if name == "" {
			continue
		}
		if j, taken := first[name]; taken {
			d.duplicate(at.item(i).child("name"), name, "the name of "+at.item(j).String())
			continue
		}
		first[name] = i
	}
}

// checkRoutes wants one policy at most for any route and cluster. A policy without clusters holds a route for all of
// them.
func (d *decoder) checkRoutes(at *jsonPath, policies []Policy) {
	holders := make(map[string]routeHolders, len(policies))
	here := &jsonPath{parent: at}
	for i := range policies {
		here.index = i
		if len(d.errs) > 0 && (d.faulty(here.child("routes")) || d.faulty(here.child("clusters"))) {
			continue
		}
		for r, route := range policies[i].Routes {
			held := holders[route]
			if j, cluster := held.conflict(policies[i].Clusters); j >= 0 {
				d.duplicate(here.child("routes").item(r), route, "held by "+at.item(j).String()+cluster)
				continue
			}
			holders[route] = held.with(i, policies[i].Clusters)
		}
	}
}

// routeHolders says which policies, by their index, hold one route. The zero value is none.
type routeHolders struct {
	first    int            // one more than the index of the first policy
	clusters map[string]int // nil when the first policy holds all clusters
}

// conflict is the policy that already holds one of the clusters (all of them, when there are none), or -1.
func (h routeHolders) conflict(clusters []string) (policy int, cluster string) {
	if h.first == 0 {
		return -1, ""
	}
	if h.clusters == nil || clusters == nil {
		return h.first - 1, ""
	}
	for _, c := range clusters {
		if j, taken := h.clusters[c]; taken {
			return j, " for cluster " + strconv.Quote(c)
		}
	}
	return -1, ""
}

func (h routeHolders) with(policy int, clusters []string) routeHolders {
	if h.first == 0 {
		h.first = policy + 1
	}
	if clusters == nil {
		return h
	}
	if h.clusters == nil {
		h.clusters = make(map[string]int, len(clusters))
	}
	for _, c := range clusters {
		h.clusters[c] = policy
	}
	return h
}
