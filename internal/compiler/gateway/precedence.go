package gateway

import (
	"cmp"
	"regexp"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
)

// matchesOf lists the matches of every rule of a route. A rule without any matches every request.
func matchesOf(route *Route) []Match {
	var matches []Match
	for r, rule := range route.Value.Spec.Rules {
		if isDropped(route, r) {
			continue
		}
		specs := rule.Matches
		if len(specs) == 0 {
			specs = []gatewayv1.HTTPRouteMatch{{}}
		}
		for m, spec := range specs {
			matches = append(matches, Match{Route: route, Rule: r, Match: m, Spec: completeMatch(spec)})
		}
	}
	return matches
}

// completeMatch fills in the path, which the schema leaves out of matches in an empty list.
func completeMatch(spec gatewayv1.HTTPRouteMatch) gatewayv1.HTTPRouteMatch {
	prefix, root := gatewayv1.PathMatchPathPrefix, "/"
	path := gatewayv1.HTTPPathMatch{Type: &prefix, Value: &root}
	if spec.Path != nil && spec.Path.Type != nil {
		path.Type = spec.Path.Type
	}
	if spec.Path != nil && spec.Path.Value != nil {
		path.Value = spec.Path.Value
	}
	spec.Path = &path
	return spec
}

// TrimPathPrefix takes the slash off the end of a path prefix, for /cart/ means the same as /cart.
func TrimPathPrefix(path string) string {
	if short := strings.TrimRight(path, "/"); short != "" {
		return short
	}
	return "/"
}

// literalPrefix is the beginning that all paths of a match have. A regular expression has been checked by its reader.
func literalPrefix(path *gatewayv1.HTTPPathMatch) string {
	if *path.Type != gatewayv1.PathMatchRegularExpression {
		return TrimPathPrefix(*path.Value)
	}
	expression, err := regexp.Compile(*path.Value)
	if err != nil {
		return "/"
	}
	beginning, _ := expression.LiteralPrefix()
	return beginning
}

// LiteralPathPrefix is the longest path, in whole segments, that all paths of a regular expression are below.
func LiteralPathPrefix(path *gatewayv1.HTTPPathMatch) string {
	beginning := literalPrefix(path)
	return TrimPathPrefix(beginning[:strings.LastIndexByte(beginning, '/')+1])
}

// rankedMatch is a match with what its precedence depends on besides.
type rankedMatch struct {
	Match
	wildness int // how unspecific its route's own hostname is, of those that cover the request's
}

// compareMatches puts the match of higher precedence first, in the order of criteria that HTTPRoute gives: hostname
// (spec.hostnames), then path, method, headers and query (rules.matches), then age, name, and place in the route. Where
// routes have no creation time their namespaces' places in the input are asked before their names, as for all that
// several may want (S75). GRPCRoute's order, in which the service comes before the method, is the same one over its
// paths: those of a method in any service come after those of a service and before those of any call.
func compareMatches(a, b rankedMatch, order *seniority.Order) int {
	if by := compareSpecs(a, b); by != 0 {
		return by // the order costs something where it is asked
	}
	return cmp.Or(
		order.Compare(a.Route.Origin(), b.Route.Origin()),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Match.Match, b.Match.Match),
	)
}

// compareSpecs is compareMatches for what the matches themselves say.
func compareSpecs(a, b rankedMatch) int {
	return cmp.Or(
		cmp.Compare(a.wildness, b.wildness),
		cmp.Compare(
			rankIf(*a.Spec.Path.Type != gatewayv1.PathMatchExact),
			rankIf(*b.Spec.Path.Type != gatewayv1.PathMatchExact),
		),
		cmp.Compare(len(literalPrefix(b.Spec.Path)), len(literalPrefix(a.Spec.Path))),
		cmp.Compare(
			rankIf(*a.Spec.Path.Type != gatewayv1.PathMatchRegularExpression),
			rankIf(*b.Spec.Path.Type != gatewayv1.PathMatchRegularExpression),
		),
		cmp.Compare(rankIf(a.Spec.Method == nil), rankIf(b.Spec.Method == nil)),
		cmp.Compare(len(b.Spec.Headers), len(a.Spec.Headers)),
		cmp.Compare(len(b.Spec.QueryParams), len(a.Spec.QueryParams)),
	)
}

func rankIf(lacks bool) int {
	if lacks {
		return 1
	}
	return 0
}
