package compiler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
)

func changedPolicy(name, target, spec string) string {
	return "---\n{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: " + name + "}, spec: {targetRefs: [" + target + "], " + spec + "}}\n"
}

// TestSinceListsChangedValues adds, changes and takes away policies above two rules, of which one writes a field itself.
//
// requirements: S5, S9, 2C.20
func TestSinceListsChangedValues(t *testing.T) {
	const onGateway, onRoute = "{group: gateway.networking.k8s.io, kind: Gateway, name: web}", "{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}"
	routes := endedRoute(endedRule("pay", "/pay", "absoluteTimeout: 8h"), endedRule("look", "/look"))
	company := changedPolicy("company", onGateway, "default: {absoluteTimeout: 24h}")
	off := endedRoute(`{name: plain, backendRefs: [{name: shop, port: 80}]}`)
	for name, c := range map[string]struct {
		before, after string
		want          []string
	}{
		"nothing": {routes + company, routes + company, nil},
		"a new default, where no rule writes the field": {routes, routes + company, []string{
			"spec.rules[1]: absoluteTimeout is 24h by SessionPersistencePolicy default/company (spec.default.absoluteTimeout, default on the Gateway), and was nothing by the built-in default",
		}},
		"another default": {routes + company, routes + strings.Replace(company, "24h", "12h", 1), []string{
			"spec.rules[1]: absoluteTimeout is 12h by SessionPersistencePolicy default/company (spec.default.absoluteTimeout, default on the Gateway), and was 24h by SessionPersistencePolicy default/company (spec.default.absoluteTimeout, default on the Gateway)",
		}},
		"a default that goes": {routes + company, routes, []string{"spec.rules[1]: absoluteTimeout is nothing by the built-in default, and was 24h by "}},
		"an override": {routes, routes + strings.Replace(company, "default:", "override:", 1), []string{
			"spec.rules[0]: absoluteTimeout is 24h by SessionPersistencePolicy default/company (spec.override.absoluteTimeout, override on the Gateway), and was 8h by HTTPRoute default/cart",
			"spec.rules[1]: absoluteTimeout is 24h by ",
		}},
		"a field that is taken away": {routes + company, routes + company + changedPolicy("p", onRoute, "unset: [absoluteTimeout]"), []string{
			"spec.rules[1]: absoluteTimeout is (unset) by SessionPersistencePolicy default/p (spec.unset[0], plain on the route), and was 24h by ",
		}},
		"sessions that a default turns on": {off, off + company, []string{"spec.rules[0]: sessions are on now, by SessionPersistencePolicy default/company (spec.default, default on the Gateway)"}},
		"sessions that a policy turns off": {off + company, off + company + changedPolicy("p", onRoute, "disabled: true"), []string{
			"spec.rules[0]: sessions are off now, by SessionPersistencePolicy default/p (spec.disabled, plain on the route)",
		}},
		"what a rule says inline": {routes, strings.Replace(routes, "absoluteTimeout: 8h", "absoluteTimeout: 9h", 1), nil},
		"a new rule":              {company, routes + company, nil},
	} {
		t.Run(name, func(t *testing.T) {
			source := func(text string) []compiler.Source {
				return []compiler.Source{{Name: "a.yaml", Data: []byte(endedCommon + text)}}
			}
			checked, err := compiler.Check(source(c.after), compiler.Options{Since: source(c.before), AllowEmpty: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, row := range checked.Rows {
				if row.Verdict == compiler.Advice && (strings.Contains(row.Message, ", and was ") || strings.Contains(row.Message, " now, by ")) {
					got = append(got, row.Path+": "+row.Message)
				}
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
