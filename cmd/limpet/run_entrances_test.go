package main

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestPrintEntrances: each address with its hosts, and requests that begin a session and go on with it as curl does.
func TestPrintEntrances(t *testing.T) {
	const class = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: limpet}\nspec: {controllerName: limpet.dev/gateway-controller}\n---\n"
	for name, c := range map[string]struct{ route, want string }{
		"a cookie": {
			"rules: [{matches: [{path: {value: /}}], backendRefs: [{name: s, port: 80}]}, {matches: [{path: {value: /cart}}], backendRefs: [{name: s, port: 80}], sessionPersistence: {sessionName: c}}]",
			"limpet: serving http://127.0.0.1:8080 for every host\n" +
				"limpet: try it; the second request goes to the backend of the first:\n" +
				"  curl -i -c cookies.txt 'http://127.0.0.1:8080/cart'\n" +
				"  curl -i -b cookies.txt 'http://127.0.0.1:8080/cart'\n",
		},
		"a header": {
			"hostnames: ['*.example.com', shop.example.com], rules: [{backendRefs: [{name: s, port: 80}], sessionPersistence: {type: Header, sessionName: x-s}}]",
			"limpet: serving http://127.0.0.1:8080 for shop.example.com, *.example.com\n" +
				"limpet: try it; the second request goes to the backend of the first:\n" +
				"  curl -i --resolve shop.example.com:8080:127.0.0.1 'http://shop.example.com:8080/'\n" +
				"  curl -i -H 'x-s: that of the first answer' --resolve shop.example.com:8080:127.0.0.1 'http://shop.example.com:8080/'\n",
		},
		"no session": {
			"rules: [{matches: [{headers: [{name: a, value: b}], path: {value: /a}}, {path: {type: Exact, value: /b}}], backendRefs: [{name: s, port: 80}]}]",
			"limpet: serving http://127.0.0.1:8080 for every host\nlimpet: try it:\n  curl -i 'http://127.0.0.1:8080/b'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := class + "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g}\n" +
				"spec: {gatewayClassName: limpet, listeners: [{name: h, protocol: HTTP, port: 8080}]}\n---\n" +
				"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec: {parentRefs: [{name: g}], " + c.route + "}\n---\n" +
				"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n"
			result, err := compiler.Compile([]compiler.Source{{Name: "in.yaml", Data: []byte(text)}}, compiler.Options{
				Keys:  policyconfig.Keys{FromEnv: policyconfig.DefaultKeysEnv},
				Envoy: &compiler.EnvoyOptions{ModulePath: "/w", Served: &compiler.Served{Together: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			entrances, err := result.Served[0].Entrances()
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			if printEntrances(&got, entrances); got.String() != c.want {
				t.Errorf("got\n%swant\n%s", got.String(), c.want)
			}
		})
	}
}
