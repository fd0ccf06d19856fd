package policy

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// extent says with which requests clients send a session's cookie or header. Where two extents of one name meet, their
// sessions collide, unless both have one owner.
type extent struct {
	// owner names the sessions that may meet: those of a cookie's scope, or of a header's namespace.
	owner string
	// within is the cookie's Domain, in lower case, if it has one, or the Gateway of a header.
	within string
	// hostnames are the rule's; a cookie with a Domain has all.
	hostnames []string
	// paths holds the cookie's Path attribute for each match of the rule, empty for none (S23).
	paths []string
	// replacedPaths are those that a name with __Host- has changed to "/".
	replacedPaths []string
}

// findExtent returns the extent of the claimed name. A suffix of the name does not change it.
func (c *claim) findExtent() extent {
	if !c.isCookie() {
		return extent{owner: c.route.Namespace, within: c.gateway.Key(), hostnames: c.hostnames, paths: []string{""}}
	}
	e := extent{owner: c.scope, hostnames: c.hostnames, paths: make([]string, c.countMatches())}
	if domain, _ := c.cookieDomain(); domain != "" {
		e.within, e.hostnames = strings.ToLower(domain), []string{"*"}
	}
	for m := range e.paths {
		e.paths[m] = c.cookiePath(m)
		if policyconfig.CookieRulesFor(c.name).HostOnly && e.paths[m] != "/" {
			e.replacedPaths = append(e.replacedPaths, e.paths[m])
			e.paths[m] = "/"
		}
	}
	return e
}

// cookieDomain is the cookie's Domain attribute; false if there is none.
func (p *resolvedPath) cookieDomain() (string, bool) {
	f := p.effective.Field("cookie.domain")
	if f == nil {
		return "", false
	}
	domain, is := f.Value.(string)
	return domain, is && domain != ""
}

// cookiePath is the cookie's Path for a match.
func (c *claim) cookiePath(match int) string {
	path, fixed := c.fixedPath()
	switch {
	case fixed:
		return path
	case c.ofRoute:
		return c.routePath
	default:
		return c.derivePath(match)
	}
}

// fixedPath is a Path that does not depend on what the rule matches; false if it does.
func (p *resolvedPath) fixedPath() (path string, fixed bool) {
	path, written := p.effective.CookiePath()
	switch {
	case p.effective.Envelope():
		return "", true // the application chooses it
	case written:
		return path, true
	case p.release == sessionapi.Release17:
		return "/", true
	case p.effective.TurnedOnBy.Level.IsOnService():
		return "", true // the routes of a Service have different paths
	}
	return "", false
}

// derivePath is the Path by the match's own path.
func (l *ruleLocation) derivePath(match int) string {
	return cutUnholdable(matchPath(l.route.Value.Spec.Rules[l.rule].Matches, match))
}

// cutUnholdable cuts off what a Path attribute can't hold, together with its segment (S24). Browsers send a cookie of
// the path /cart for /cart and all that is below it (RFC 6265, section 5.1.4), as a prefix match takes them.
func cutUnholdable(path string) string {
	before, _, found := strings.Cut(path, ";")
	if !found {
		return path
	}
	return gateway.TrimPathPrefix(before[:strings.LastIndexByte(before, '/')+1])
}

func isExact(path *gatewayv1.HTTPPathMatch) bool {
	return path != nil && path.Type != nil && *path.Type == gatewayv1.PathMatchExact
}

// matchPath is the path of a match, without a slash at the end of a prefix; of a regular expression its literal
// beginning (S24).
func matchPath(matches []gatewayv1.HTTPRouteMatch, match int) string {
	if match >= len(matches) || matches[match].Path == nil || matches[match].Path.Value == nil {
		return "/"
	}
	path := matches[match].Path
	if isExact(path) {
		return *path.Value
	}
	if path.Type != nil && *path.Type == gatewayv1.PathMatchRegularExpression {
		return gateway.LiteralPathPrefix(path)
	}
	return gateway.TrimPathPrefix(*path.Value)
}
