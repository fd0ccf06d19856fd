package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// TestNames shows the name and scope of each session on the first listener.
func TestNames(t *testing.T) {
	const policyName = "sessionName: cart"
	inline, perBackend := ruleWith("/", "{sessionName: cart}"), Options{Release: sessionapi.Release17}
	for name, c := range map[string]struct {
		options Options
		policy  string // settings of one on the route, empty for none
		rules   []string
		want    []string
	}{
		"a written name stays": {
			rules: []string{inline}, want: []string{"cart for RULE"},
		},
		"without a name one is made of the scope": {
			rules: []string{ruleWith("/", "{}")}, want: []string{"limpet-3ca04deab2fb for RULE"},
		},
		"a header's is made in another way": {
			rules: []string{ruleWith("/", "{type: Header}")}, want: []string{"x-limpet-session-3ca04deab2fb for RULE"},
		},
		"S26: rules whose cookies would collide get suffixes, all of them": {
			policy: policyName + ", cookie: {path: /}", rules: []string{plainRule("/shop", "a"), plainRule("/cart", "a")},
			want: []string{"cart-3ced09a87097 for RULE-A", "cart-cc81be1e5f2a for RULE-B"},
		},
		"S26: not those with paths of their own": {
			policy: policyName, rules: []string{plainRule("/shop", "a"), plainRule("/cart", "a")},
			want: []string{"cart for RULE-A", "cart for RULE-B"},
		},
		"S26: nor where each rule writes the name itself, which is a collision": {
			rules: []string{inline, inline}, want: []string{"cart for RULE", "cart for RULE/2"},
		},
		"S27: one cookie can't hold a session in each backend": {
			options: perBackend, policy: policyName, rules: []string{plainRule("/", "a", "b")},
			want: []string{"cart-9538b3b8d69b for RULE/BACKEND/a/80", "cart-a96e617d7f04 for RULE/BACKEND/b/80"},
		},
		"S27: headers are not suffixed": {
			options: perBackend, policy: policyName + ", type: Header", rules: []string{plainRule("/", "a", "b")},
			want: []string{"cart for RULE/BACKEND/a/80", "cart for RULE/BACKEND/b/80"},
		},
		"a backend alone needs no suffix": {
			options: Options{Release: sessionapi.Release17}, policy: policyName, rules: []string{plainRule("/", "a")},
			want: []string{"cart for RULE/BACKEND/a/80"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			documents := []string{routeOn("one", "r", "", "["+strings.Join(c.rules, ", ")+"]")}
			if c.policy != "" {
				documents = append(documents, policyOn(onRoute, c.policy))
			}
			expectLines(t, describeNames(takeSteps(t, c.options, documents...).named), c.want...)
		})
	}
}

func describeNames(rules []*namedRule) (lines []string) {
	shorten := strings.NewReplacer("HTTPRoute/default/r/matches/75ff6852f9ba93fd", "RULE", "HTTPRoute/default/r/matches/cb00f80951df4e32", "RULE-A",
		"HTTPRoute/default/r/matches/948581af88c3785d", "RULE-B", "backend/Service/default", "BACKEND")
	for _, n := range rules {
		for i, c := range n.claims {
			lines = append(lines, fmt.Sprintf("%s for %s", n.names[i].shared, shorten.Replace(c.scope)))
		}
	}
	return lines
}

// TestRenames lists what was suffixed, S27 first.
func TestRenames(t *testing.T) {
	inline := ruleWith("/", "{sessionName: cart}")
	rules := strings.Join([]string{plainRule("/shop", "a"), inline, plainRule("/", "a", "b"), plainRule("/cart", "a")}, ", ")
	s := takeSteps(t, Options{Release: sessionapi.Release17}, policyOn(onRoute, "sessionName: cart, cookie: {path: /}"),
		routeOn("one", "r", "", "["+rules+"]"))
	var got []string
	for _, r := range listRenames(s.named) {
		got = append(got, fmt.Sprintf("%s rule %d: %s by %s", r.SemanticsRule, r.Rule, r.From, r.By.Origin))
	}
	const by = "cart by SessionPersistencePolicy default/p"
	expectLines(t, got, "S27 rule 2: "+by, "S27 rule 2: "+by, "S26 rule 0: "+by, "S26 rule 3: "+by)
}
