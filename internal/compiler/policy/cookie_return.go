package policy

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// limitDomain is about a Domain that browsers accept from none of the rule's hosts (S49).
func (o *Options) limitDomain(_ *Rule, s *Session) Limit {
	domain, is := s.claim.cookieDomain()
	if !is || s.claim.effective.Envelope() {
		return Limit{}
	}
	hosts := s.claim.hostnames
	for _, h := range hosts {
		name := strings.TrimPrefix(h, "*.")
		if h == "*" || isBelow(name, domain) || name != h && isBelow(domain, name) {
			return Limit{}
		}
	}
	return Limit{Field: "cookie.domain", Why: fmt.Sprintf(
		"none of the hosts of rule %d of %s (%s) is below this domain: browsers will drop the cookie",
		s.Rule, s.Route, strings.Join(hosts, ", "))}
}

func isBelow(name, domain string) bool {
	name, domain = strings.ToLower(name), strings.ToLower(domain)
	return name == domain || strings.HasSuffix(name, "."+domain)
}

// limitCookiePath is about a Path below which none of the rule's requests are (S23): the cookie is issued and never
// sent back.
func (o *Options) limitCookiePath(_ *Rule, s *Session) Limit {
	beside := s.listMatchesBeside()
	if len(beside) < s.claim.countMatches() {
		return Limit{}
	}
	return Limit{Field: "cookie.path", Why: fmt.Sprintf(
		"no request of rule %d of %s is below %q (it matches %s): browsers will not send the cookie back, unless a proxy "+
			"before this one changes paths; write the path of its requests, or /",
		s.Rule,
		s.Route,
		s.claim.extent.paths[0],
		strings.Join(beside, ", "),
	)}
}

// reportMatchesBeside tells of a written Path that is for some of the rule's matches alone: behind the others each
// request begins a session.
func (d *reporter) reportMatchesBeside(s *Session) {
	if beside := s.listMatchesBeside(); len(beside) > 0 && len(beside) < s.claim.countMatches() {
		d.adviseWhereWritten(s.Effective.Field("cookie.path").FieldValue, fmt.Sprintf(
			"of the requests of rule %d of %s those for %s are not below %q: browsers do not send the cookie back with them",
			s.Rule, s.Route, strings.Join(beside, ", "), s.claim.extent.paths[0]))
	}
}

// listMatchesBeside lists the paths of those matches of whose requests none has a cookie with the path that is written.
func (s *Session) listMatchesBeside() (paths []string) {
	path := s.Effective.Field("cookie.path")
	if !s.claim.isOwnCookie() || path == nil || path.Level == precedence.BuiltIn || len(s.Refusals) > 0 {
		return nil
	}
	matches := s.Route.Value.Spec.Rules[s.Rule].Matches
	for m, cookie := range s.claim.extent.paths {
		if !mayBeBelow(matches, m, cookie) {
			paths = append(paths, matchPath(matches, m))
		}
	}
	return slices.Compact(paths)
}

// mayBeBelow reports whether some request of a match is for a path for which browsers send a cookie. Of a regular
// expression its literal beginning is known.
func mayBeBelow(matches []gatewayv1.HTTPRouteMatch, match int, cookie string) bool {
	if cookie == "" {
		return true
	}
	path := matchPath(matches, match)
	if match < len(matches) && isExact(matches[match].Path) {
		return cookieCovers(cookie, path)
	}
	return cookieCovers(gateway.TrimPathPrefix(cookie), path) || cookieCovers(path, cookie)
}

// cookieCovers reports whether browsers send a cookie of a path with a request for another (RFC 6265, section 5.1.4).
func cookieCovers(cookie, path string) bool {
	return path == cookie || strings.HasPrefix(path, strings.TrimSuffix(cookie, "/")+"/")
}
