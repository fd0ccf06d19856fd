package policy

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// cookieExtent is which requests clients send a session's cookie with.
type cookieExtent struct {
	// paths holds the cookie's Path attribute for each match of the rule, empty for none (S23).
	paths []string
	// replacedPaths are those that a name with __Host- has changed to "/".
	replacedPaths []string
	locations     []cookieLocation
}

// cookieLocation is where cookies of one name and Domain meet.
type cookieLocation struct{ name, domain, hostname string }

// findCookieExtent works it out for the session's name.
func (s *namedSession) findCookieExtent() (c cookieExtent) {
	if !s.isCookie() {
		return c
	}
	c.locations, c.paths = s.cookieLocations(), make([]string, s.countMatches())
	for m := range c.paths {
		c.paths[m] = s.cookiePath(m)
		if policyconfig.CookieRulesFor(s.name).HostOnly && c.paths[m] != "/" {
			c.replacedPaths = append(c.replacedPaths, c.paths[m])
			c.paths[m] = "/"
		}
	}
	return c
}

// cookieLocations gives where a session's cookie is seen: its name and Domain at each of its hostnames, or with a Domain
// everywhere below that, whatever the hostname.
func (s *namedSession) cookieLocations() []cookieLocation {
	if domain, _ := s.cookieDomain(); domain != "" {
		return []cookieLocation{{s.name, strings.ToLower(domain), "*"}}
	}
	locations := make([]cookieLocation, len(s.hostnames))
	for i, h := range s.hostnames {
		locations[i] = cookieLocation{s.name, "", h}
	}
	return locations
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

func (p *resolvedPath) cookiePath(match int) string {
	path, written := p.effective.CookiePath()
	switch {
	case p.effective.Envelope():
		return "" // the application chooses it
	case written:
		return path
	case p.release == sessionapi.Release17:
		return "/"
	case p.effective.TurnedOnBy.Level.IsOnService():
		return "" // the routes of a Service have different paths
	default:
		return cutUnholdable(matchPath(p.route.Value.Spec.Rules[p.rule].Matches, match))
	}
}

// cutUnholdable cuts off what a Path attribute can't hold, together with its segment (S24). Browsers send a cookie of the
// path /cart for /cart and all that is below it (RFC 6265, section 5.1.4), as a prefix match takes them.
func cutUnholdable(path string) string {
	before, _, found := strings.Cut(path, ";")
	if !found {
		return path
	}
	return gateway.TrimPathPrefix(before[:strings.LastIndexByte(before, '/')+1])
}

// matchPath is the path of a match, without a slash at the end of a prefix; of a regular expression its literal
// beginning (S24).
func matchPath(matches []gatewayv1.HTTPRouteMatch, match int) string {
	if match >= len(matches) || matches[match].Path == nil || matches[match].Path.Value == nil {
		return "/"
	}
	path := matches[match].Path
	if path.Type != nil && *path.Type == gatewayv1.PathMatchExact {
		return *path.Value
	}
	if path.Type != nil && *path.Type == gatewayv1.PathMatchRegularExpression {
		return gateway.LiteralPathPrefix(path)
	}
	return gateway.TrimPathPrefix(*path.Value)
}
