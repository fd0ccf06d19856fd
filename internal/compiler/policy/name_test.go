package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// TestNames shows the name and scope of each session on the first listener.
func TestNames(t *testing.T) {
	rules := func(rules ...string) string {
		return routeOn("one", "r", "", "["+strings.Join(rules, ", ")+"]")
	}
	const policyName = "sessionName: cart"
	perBackend := Options{PerBackendSessions: true}
	for name, c := range map[string]struct {
		options   Options
		documents []string
		want      []string
	}{
		"a written name stays": {
			documents: []string{rules(ruleWith("/", "{sessionName: cart}"))},
			want:      []string{"cart for HTTPRoute/default/r/rule/0"},
		},
		"without a name one is made of the scope": {
			documents: []string{rules(ruleWith("/", "{}"))},
			want:      []string{"limpet-97b2abaae123 for HTTPRoute/default/r/rule/0"},
		},
		"a header's is made in another way": {
			documents: []string{rules(ruleWith("/", "{type: Header}"))},
			want:      []string{"x-limpet-session-97b2abaae123 for HTTPRoute/default/r/rule/0"},
		},
		"S26: rules whose cookies would collide get suffixes, all of them": {
			documents: []string{policyOn(onRoute, policyName+", cookie: {path: /}"), rules(plainRule("/shop", "a"), plainRule("/cart", "a"))},
			want:      []string{"cart-97b2abaae123 for HTTPRoute/default/r/rule/0", "cart-3fa7f87b2429 for HTTPRoute/default/r/rule/1"},
		},
		"S26: not those with paths of their own": {
			documents: []string{policyOn(onRoute, policyName), rules(plainRule("/shop", "a"), plainRule("/cart", "a"))},
			want:      []string{"cart for HTTPRoute/default/r/rule/0", "cart for HTTPRoute/default/r/rule/1"},
		},
		"S26: nor where each rule writes the name itself, which is a collision": {
			documents: []string{rules(ruleWith("/", "{sessionName: cart}"), ruleWith("/", "{sessionName: cart}"))},
			want:      []string{"cart for HTTPRoute/default/r/rule/0", "cart for HTTPRoute/default/r/rule/1"},
		},
		"S27: one cookie can't hold a session in each backend": {
			options:   perBackend,
			documents: []string{policyOn(onRoute, policyName), rules(plainRule("/", "a", "b"))},
			want:      []string{"cart-85263ec1664d for HTTPRoute/default/r/rule/0/backend/Service/default/a/80", "cart-ee66ff35eb35 for HTTPRoute/default/r/rule/0/backend/Service/default/b/80"},
		},
		"S27: headers are not suffixed": {
			options:   perBackend,
			documents: []string{policyOn(onRoute, policyName+", type: Header"), rules(plainRule("/", "a", "b"))},
			want:      []string{"cart for HTTPRoute/default/r/rule/0/backend/Service/default/a/80", "cart for HTTPRoute/default/r/rule/0/backend/Service/default/b/80"},
		},
		"a backend alone needs no suffix": {
			options:   Options{Release: sessionapi.Release17},
			documents: []string{policyOn(onRoute, policyName), rules(plainRule("/", "a"))},
			want:      []string{"cart for HTTPRoute/default/r/rule/0/backend/Service/default/a/80"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range takeSteps(t, c.options, c.documents...).named {
				for _, s := range n.sessions {
					got = append(got, fmt.Sprintf("%s for %s", s.name, s.scope))
				}
			}
			expectLines(t, got, c.want...)
		})
	}
}
