package gateway

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// equalMatch is a match that gets no request of some host, for another one is equal to it and goes first.
type equalMatch struct {
	route       *Route
	rule, match int
}

// tellEqual tells the routes whose matches are equal to one that goes before them (HTTPRoute, rules.matches: the older
// route's, then by name, then the first in the route), once for each match. They are among those that differ in nothing
// else of their precedence.
func (b *builder) tellEqual(domain string, ranked []rankedMatch) {
	for begin := 0; begin < len(ranked); {
		end := begin + 1
		for end < len(ranked) && compareSpecs(ranked[begin], ranked[end]) == 0 {
			end++
		}
		if end > begin+1 {
			b.tellEqualOf(domain, ranked[begin:end])
		}
		begin = end
	}
}

func (b *builder) tellEqualOf(domain string, ranked []rankedMatch) {
	first := make(map[string]*Match, len(ranked))
	for i := range ranked {
		m := &ranked[i].Match
		at := equalMatch{m.Route, m.Rule, m.Match}
		key := b.keyOf(at, m)
		before := first[key]
		if before == nil {
			first[key] = m
			continue
		}
		if b.equal[at] {
			continue
		}
		b.equal[at] = true
		path := field.NewPath("spec", "rules").Index(m.Rule)
		if len(m.Route.Value.Spec.Rules[m.Rule].Matches) > 0 {
			path = path.Child("matches").Index(m.Match)
		}
		rival := before.Route.String()
		if before.Route == m.Route {
			rival = fmt.Sprintf("rule %d of the route", before.Rule)
		}
		b.rep.AdviseFor(report.EqualMatch, m.Route, report.ReasonEqualMatch, path.String(),
			fmt.Sprintf("%s, which goes first, has an equal match: requests for %s go there", rival, domain))
	}
}

// keyOf is a match's key, which is made once: a route for all hosts is among those of each.
func (b *builder) keyOf(at equalMatch, m *Match) string {
	key, known := b.keys[at]
	if !known {
		key = m.key()
		b.keys[at] = key
	}
	return key
}

// key is the same for matches that are equal, in whatever order and letters they are written.
func (m *Match) key() string {
	var parts []string
	for _, h := range m.Spec.Headers {
		kind := gatewayv1.HeaderMatchExact
		if h.Type != nil {
			kind = *h.Type
		}
		parts = append(parts, fmt.Sprintf("h %q %s %q", strings.ToLower(string(h.Name)), kind, h.Value))
	}
	for _, q := range m.Spec.QueryParams {
		kind := gatewayv1.QueryParamMatchExact
		if q.Type != nil {
			kind = *q.Type
		}
		parts = append(parts, fmt.Sprintf("q %q %s %q", string(q.Name), kind, q.Value))
	}
	slices.Sort(parts)
	path := *m.Spec.Path.Value
	if *m.Spec.Path.Type == gatewayv1.PathMatchPathPrefix {
		path = TrimPathPrefix(path)
	}
	method := gatewayv1.HTTPMethod("")
	if m.Spec.Method != nil {
		method = *m.Spec.Method
	}
	return fmt.Sprintf("%s %q %s %s", *m.Spec.Path.Type, path, method, strings.Join(parts, " "))
}
