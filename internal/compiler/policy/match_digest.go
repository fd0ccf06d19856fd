package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// digestMatches tells the rule at an index from all others of its route by what it matches. Rules of the same matches
// are numbered, in their order: only the first of them ever gets a request (Gateway API, HTTPRouteRule, "matches").
func digestMatches(rules []gatewayv1.HTTPRouteRule, index int) string {
	matches := listMatchTexts(rules[index].Matches)
	earlier := 0
	for i := range rules[:index] {
		other := &rules[i]
		if other.Name == nil && len(other.Matches) == len(rules[index].Matches) &&
			slices.Equal(listMatchTexts(other.Matches), matches) {
			earlier++
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(matches, "\n")))
	digest := hex.EncodeToString(sum[:8])
	if earlier > 0 {
		digest += fmt.Sprintf("/%d", earlier+1)
	}
	return digest
}

// listMatchTexts gives the matches of a rule as texts that are equal if and only if the same requests match: any of the
// matches will do, and all headers and parameters of each have to, so their order says nothing.
func listMatchTexts(matches []gatewayv1.HTTPRouteMatch) []string {
	if len(matches) == 0 {
		matches = make([]gatewayv1.HTTPRouteMatch, 1)
	}
	texts := make([]string, len(matches))
	for i := range matches {
		texts[i] = writeMatch(matches[i])
	}
	slices.Sort(texts)
	return texts
}

// writeMatch fills in the defaults of Gateway API, which foreign routes and documents that nothing admitted leave out.
func writeMatch(m gatewayv1.HTTPRouteMatch) string {
	if m.Path == nil {
		kind, root := gatewayv1.PathMatchPathPrefix, "/"
		m.Path = &gatewayv1.HTTPPathMatch{Type: &kind, Value: &root}
	}
	m.Headers = slices.SortedFunc(slices.Values(m.Headers), func(a, b gatewayv1.HTTPHeaderMatch) int {
		return strings.Compare(string(a.Name), string(b.Name))
	})
	m.QueryParams = slices.SortedFunc(slices.Values(m.QueryParams), func(a, b gatewayv1.HTTPQueryParamMatch) int {
		return strings.Compare(string(a.Name), string(b.Name))
	})
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // the type has nothing in it that JSON does not
	}
	return string(text)
}
