package policy

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// cookiePaths gives the Path attribute of the session's cookie for each match of the rule, the empty text for none
// (S23); nil for a header. What a name with __Host- took the place of goes to asked.
func (s *Session) cookiePaths() []string {
	if !s.isCookie() {
		return nil
	}
	s.replacedPaths = nil
	paths := make([]string, s.rule.countMatches())
	for m := range paths {
		paths[m] = s.cookiePath(m)
		if hasHostPrefix(s.Name) && paths[m] != "/" {
			s.replacedPaths = append(s.replacedPaths, paths[m])
			paths[m] = "/"
		}
	}
	return paths
}

func (s *Session) cookiePath(match int) string {
	path, written := s.Effective.CookiePath()
	switch {
	case written:
		return path
	case s.Release == sessionapi.Release17:
		return "/"
	case s.Effective.TurnedOnBy.Level.IsOnService():
		return "" // the routes of a Service have different paths
	default:
		return cutUnholdable(s.rule.matchPath(match))
	}
}

// countMatches is how many matches a rule has; without any in its spec it has one, of everything.
func (r *Rule) countMatches() int {
	return max(1, len(r.key.route.Value.Spec.Rules[r.key.rule].Matches))
}

// hasHostPrefix reports whether browsers bind a cookie of the name to its host, and so to the path "/" (RFC 6265bis,
// section 5.7); they don't look at the case.
func hasHostPrefix(name string) bool {
	const prefix = "__Host-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
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
func (r *Rule) matchPath(match int) string {
	matches := r.key.route.Value.Spec.Rules[r.key.rule].Matches
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
