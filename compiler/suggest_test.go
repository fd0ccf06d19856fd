package compiler

import (
	"encoding/json"
	"strings"
	"testing"
)

// slips are names that lead to nothing, by a letter or a namespace.
const slips = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: slip, namespace: shop}
spec: {gatewayClassName: limpt, listeners: [{name: http, protocol: HTTP, port: 81}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: account, namespace: shop}
spec:
  parentRefs: [{name: edgge}, {name: edge}]
  rules: [{name: profile, backendRefs: [{name: account-v-1, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: strange, namespace: other}
spec: {parentRefs: [{name: edge}]}
---
apiVersion: v1
kind: Service
metadata: {name: account-v1, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: p, namespace: shop}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: acount}
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: account, sectionName: profil}
  - {group: gateway.networking.k8s.io, kind: HTTPRoute, name: account, sectionName: something-else}
`

// TestSuggestNames: what says that an object is not there has the name behind it that may be meant, in check and, if it is asked to, in
// a compilation. Statuses have none.
func TestSuggestNames(t *testing.T) {
	sources := []Source{{Name: "in.yaml", Data: []byte(slips)}}
	checked, err := Check(sources, Options{})
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(sources, Options{SuggestNames: true, Envoy: &EnvoyOptions{ModulePath: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	var rows, warnings []string
	for _, r := range checked.Rows {
		rows = append(rows, r.Message)
	}
	for _, p := range compiled.Warnings {
		warnings = append(warnings, p.Message)
	}
	for _, want := range []string{
		"there is no GatewayClass limpt in the input: the Gateway is left out; did you mean limpet?",
		"there is no Gateway shop/edgge in the input: the route does not attach; did you mean edge?",
		"there is no Gateway other/edge in the input: the route does not attach; there is one in the namespace shop",
		"there is no Service shop/account-v-1 in the input: its share of the traffic gets 500; did you mean account-v1?",
		"there is no HTTPRoute shop/acount in the input: the policy has no effect there; did you mean account?",
		"HTTPRoute shop/account has no rule named \"profil\": the policy has no effect there; did you mean profile?",
		"HTTPRoute shop/account has no rule named \"something-else\": the policy has no effect there; it has: profile",
	} {
		for where, all := range map[string][]string{"check": rows, "compile": warnings} {
			if !strings.Contains(strings.Join(all, "\n"), want) {
				t.Errorf("%s does not say %q:\n%s", where, want, strings.Join(all, "\n"))
			}
		}
	}
	for _, o := range checked.Objects {
		if text, err := json.Marshal(o.Status); err != nil || strings.Contains(string(text), "did you mean") {
			t.Errorf("the status of %s %s: %s, %v", o.Kind, o.Metadata.Name, text, err)
		}
	}
}

// TestExplainEmpty: what says that nothing is served says what would change that.
func TestExplainEmpty(t *testing.T) {
	class := "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: c}\nspec: {controllerName: CONTROLLER}\n---\n"
	gateway := "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g}\nspec: {gatewayClassName: c, " +
		"listeners: [{name: http, protocol: PROTOCOL, port: 80}]}\n"
	good := strings.Replace(class, "CONTROLLER", "limpet.dev/gateway-controller", 1)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"# a comment\n", "there is no Gateway in the input"},
		"an Ingress":     {"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n", "limpet reads no Ingress: docs/migrate.md"},
		"no class":       {strings.Replace(gateway, "PROTOCOL", "HTTP", 1), "with --assume-class, which takes no value,"},
		"other class":    {strings.Replace(class, "CONTROLLER", "example.com/c", 1) + strings.Replace(gateway, "PROTOCOL", "HTTP", 1), "--controller-name NAME says"},
		"wrong listener": {good + strings.Replace(gateway, "PROTOCOL", "http", 1), "what is said before this says why"},
		"no certificate": {
			good + strings.Replace(gateway, "PROTOCOL, port: 80", "HTTPS, port: 443, tls: {certificateRefs: [{name: gone}]}", 1),
			"what is said before this says why",
		},
		"bad class": {
			strings.Replace(class, "controllerName", "controllername", 1) + strings.Replace(gateway, "PROTOCOL", "HTTP", 1),
			"what is said before this says why",
		},
		"no text": {"\x00", "what is said before this says why"},
	} {
		checked, err := Check([]Source{{Name: "in.yaml", Data: []byte(c.text)}}, Options{})
		if err != nil || len(checked.Rows) == 0 {
			t.Fatalf("%s: %v, %v", name, checked, err)
		}
		if got := checked.Rows[len(checked.Rows)-1].Message; !strings.Contains(checked.Errors.Error(), c.want) {
			t.Errorf("%s: it says %q, not %q", name, got, c.want)
		}
	}
}
