package resource_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// formatRule gives a rule's matches and backends: "[Exact /a method=GET] [...] -> cart:80=1".
func formatRule(r gatewayv1.HTTPRouteRule) string {
	var parts []string
	for _, m := range r.Matches {
		var match []string
		if m.Path != nil {
			match = append(match, string(*m.Path.Type), *m.Path.Value)
		}
		for _, h := range m.Headers {
			match = append(match, fmt.Sprintf("%s=%s", h.Name, h.Value))
		}
		parts = append(parts, "["+strings.Join(match, " ")+"]")
	}
	parts = append(parts, "->")
	for _, b := range r.BackendRefs {
		kind := ""
		if b.Group != nil && *b.Group != "" {
			kind = string(*b.Kind) + " "
		}
		parts = append(parts, fmt.Sprintf("%s%s:%d=%d", kind, b.Name, *b.Port, *b.Weight))
	}
	return strings.Join(parts, " ")
}

// TestGRPCRoutesAsHTTPRoutes holds which requests' paths are those of a gRPC method.
func TestGRPCRoutesAsHTTPRoutes(t *testing.T) {
	for match, want := range map[string]string{
		"{method: {service: a.B, method: Get}}":                    "[Exact /a.B/Get]",
		"{method: {service: a.B}}":                                 "[PathPrefix /a.B]",
		"{method: {method: Get}}":                                  "[RegularExpression /[^/]+/Get]",
		"{headers: [{name: x, value: v}]}":                         "[x=v]",
		"{method: {service: a.B}, headers: [{name: x, value: v}]}": "[PathPrefix /a.B x=v]",
		"{method: {service: a.B}}, {method: {service: a.C}}":       "[PathPrefix /a.B] [PathPrefix /a.C]",
		"": "",
	} {
		objects := compilertest.Admit(t, document(grpcRoute, "spec: {hostnames: [a.org], rules: [{name: r, matches: ["+match+"], backendRefs: [{name: cart, port: 80, weight: 7}]}]}"))
		route := objects.Routes[0]
		if got := formatRule(route.Value.Spec.Rules[0]); got != strings.TrimSpace(want+" -> cart:80=7") {
			t.Errorf("%s: got %s, want %s", match, got, want)
		}
		if route.Kind != "GRPCRoute" || route.Value.Spec.Hostnames[0] != "a.org" || *route.Value.Spec.Rules[0].Name != "r" {
			t.Errorf("%s: got %s with %v", match, route.Kind, route.Value.Spec)
		}
	}
}

// TestHTTPProxiesAsHTTPRoutes holds what an HTTPProxy's conditions, services and weights are in an HTTPRoute.
//
// requirements: S55
func TestHTTPProxiesAsHTTPRoutes(t *testing.T) {
	for route, want := range map[string]string{
		"{services: [{name: a, port: 80}]}":                                  "-> a:80=1",
		"{conditions: [{prefix: /}], services: [{name: a, port: 80}]}":       "[PathPrefix /] -> a:80=1",
		"{conditions: [{prefix: /api.v1}], services: [{name: a, port: 80}]}": `[RegularExpression /api\.v1.*] -> a:80=1`,
		"{conditions: [{exact: /a}], services: [{name: a, port: 80}]}":       "[Exact /a] -> a:80=1",
		"{services: [{name: a, port: 80}, {name: b, port: 81}]}":             "-> a:80=1 b:81=1",
		"{services: [{name: a, port: 80, weight: 9}, {name: b, port: 81}]}":  "-> a:80=9 b:81=0",
	} {
		objects := compilertest.Admit(t, document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: ["+route+"]}"))
		proxy := objects.HostRoutes[0]
		if got := formatRule(proxy.Value.Spec.Rules[0]); got != want {
			t.Errorf("%s: got %s, want %s", route, got, want)
		}
		if got := proxy; got.Kind != "HTTPProxy" || got.Value.Spec.Hostnames[0] != "a.org" || len(objects.Routes) != 0 {
			t.Errorf("%s: got %s for %v", route, got.Kind, got.Value.Spec.Hostnames)
		}
	}
}

// TestHTTPProxiesThatAreRefused holds Contour's rules, for there is no CRD of it at hand.
func TestHTTPProxiesThatAreRefused(t *testing.T) {
	proxy := func(host, route string) string {
		return document(httpProxy, "spec: {virtualhost: {"+host+"}, routes: [{"+route+"}]}")
	}
	const host, to = "fqdn: a.org", "services: [{name: a, port: 80}]"
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"a wildcard":               {proxy(`fqdn: "*.a.org"`, to), nil},
		"no host":                  {proxy("", to), []string{"spec.virtualhost.fqdn: Required value: an HTTPProxy that others include is not supported yet"}},
		"a host that is none":      {proxy("fqdn: A_B", to), []string{`spec.virtualhost.fqdn: Invalid value: "A_B"`}},
		"two conditions":           {proxy(host, "conditions: [{prefix: /a}, {prefix: /b}], "+to), []string{"spec.routes[0].conditions: Invalid value: 2: must have at most one condition on the path"}},
		"a condition of both":      {proxy(host, "conditions: [{prefix: /a, exact: /b}], "+to), []string{"spec.routes[0].conditions[0]: Invalid value"}},
		"a condition of neither":   {proxy(host, "conditions: [{}], "+to), []string{"must have one of prefix, exact, regex, header and queryParameter"}},
		"a path without a slash":   {proxy(host, "conditions: [{prefix: a}], "+to), []string{`spec.routes[0].conditions[0]: Invalid value: "a": must begin with "/"`}},
		"a condition on a header":  {proxy(host, "conditions: [{header: {name: a}}], "+to), []string{"spec.routes[0].conditions[0].header: Invalid value: \"a\": must have one of present"}},
		"headers":                  {proxy(host, "requestHeadersPolicy: {set: [{name: Host, value: b.org}, {name: a, value: '1%'}], remove: [b]}, responseHeadersPolicy: {remove: [c]}, "+to), nil},
		"headers of a service":     {proxy(host, "services: [{name: a, port: 80, requestHeadersPolicy: {set: [{name: a, value: b}]}}]"), nil},
		"the Host of a service":    {proxy(host, "services: [{name: a, port: 80, requestHeadersPolicy: {set: [{name: Host, value: b}]}}]"), nil},
		"the Host of answers":      {proxy(host, "responseHeadersPolicy: {set: [{name: host, value: b}]}, "+to), []string{"spec.routes[0].responseHeadersPolicy.set[0]: Invalid value: "}},
		"a Host that is none":      {proxy(host, "requestHeadersPolicy: {set: [{name: host, value: B_}]}, "+to), []string{"spec.routes[0].requestHeadersPolicy.set[0].value: Invalid value: \"B_\""}},
		"a Host that is removed":   {proxy(host, "requestHeadersPolicy: {remove: [Host]}, "+to), []string{"spec.routes[0].requestHeadersPolicy.remove[0]: Invalid value: "}},
		"limpet's own header":      {proxy(host, "requestHeadersPolicy: {set: [{name: x-limpet-pin, value: b}]}, "+to), []string{"is not for rules to change"}},
		"a variable":               {proxy(host, "requestHeadersPolicy: {set: [{name: a, value: '%CLIENT_ADDRESS%'}]}, "+to), []string{"spec.routes[0].requestHeadersPolicy.set[0].value: Invalid value: \"%CLIENT_ADDRESS%\": not supported"}},
		"a header twice":           {proxy(host, "requestHeadersPolicy: {set: [{name: a, value: b}, {name: A, value: c}]}, "+to), []string{"spec.routes[0].requestHeadersPolicy.set[1].name: Duplicate value"}},
		"a check of hosts":         {proxy(host, "healthCheckPolicy: {path: /healthy, intervalSeconds: 5}, "+to), nil},
		"a check without a path":   {proxy(host, "healthCheckPolicy: {intervalSeconds: 5}, "+to), []string{`spec.routes[0].healthCheckPolicy.path: Invalid value: ""`}},
		"a check of two lines":     {proxy(host, `healthCheckPolicy: {path: /, host: "a\r\nb"}, `+to), []string{"spec.routes[0].healthCheckPolicy.host: Invalid value"}},
		"a check before time":      {proxy(host, "healthCheckPolicy: {path: /, timeoutSeconds: -1}, "+to), []string{"spec.routes[0].healthCheckPolicy.timeoutSeconds: Invalid value: -1"}},
		"no service":               {proxy(host, "services: []"), []string{"spec.routes[0].services: Required value: a route has at least one"}},
		"a service without name":   {proxy(host, "services: [{port: 80}]"), []string{"spec.routes[0].services[0].name: Required value"}},
		"a port that is none":      {proxy(host, "services: [{name: a, port: 70000}]"), []string{"spec.routes[0].services[0].port: Invalid value: 70000"}},
		"a weight that is none":    {proxy(host, "services: [{name: a, port: 80, weight: -1}]"), []string{"spec.routes[0].services[0].weight: Invalid value: -1: must be between 0 and 1000000"}},
		"what Contour has besides": {proxy(host, "internalRedirectPolicy: {maxInternalRedirects: 1}, "+to), []string{"spec.routes[0].internalRedirectPolicy: not supported"}},
	})
}

// TestHTTPProxyPoliciesThatAreRefused holds what Contour, and what limpet, wants of retries, redirects, paths and services.
func TestHTTPProxyPoliciesThatAreRefused(t *testing.T) {
	const to, route = "services: [{name: a, port: 80}]", "spec.routes[0]."
	verified := func(more string) string {
		return "services: [{name: a, port: 80, validation: {" + more + "}}]"
	}
	slow := func(text string) string { return "services: [{name: a, port: 80, slowStartPolicy: {" + text + "}}]" }
	cases := map[string]refusal{}
	for text, why := range map[string]string{
		"retryPolicy: {count: -2}, " + to:                                                                          route + "retryPolicy.count: Invalid value: -2: must be between -1 and 2147483647",
		"retryPolicy: {perTryTimeout: soon}, " + to:                                                                route + `retryPolicy.perTryTimeout: Invalid value: "soon"`,
		"retryPolicy: {retryOn: [5xx, 4xx]}, " + to:                                                                route + `retryPolicy.retryOn[1]: Unsupported value: "4xx"`,
		"retryPolicy: {retriableStatusCodes: [99]}, " + to:                                                         route + "retryPolicy.retriableStatusCodes[0]: Invalid value: 99",
		"requestRedirectPolicy: {}, " + to:                                                                         route + "services: Forbidden: a route redirects, or has services, not both",
		"requestRedirectPolicy: {path: /a, prefix: /b}":                                                            route + "requestRedirectPolicy.prefix: Forbidden",
		"requestRedirectPolicy: {path: a}":                                                                         route + `requestRedirectPolicy.path: Invalid value: "a": must begin with "/"`,
		"requestRedirectPolicy: {scheme: ftp}":                                                                     route + `requestRedirectPolicy.scheme: Unsupported value: "ftp"`,
		"requestRedirectPolicy: {hostname: A_}":                                                                    route + `requestRedirectPolicy.hostname: Invalid value: "A_"`,
		"requestRedirectPolicy: {port: 0}":                                                                         route + "requestRedirectPolicy.port: Invalid value: 0",
		"requestRedirectPolicy: {statusCode: 200}":                                                                 route + "requestRedirectPolicy.statusCode: Invalid value: 200",
		"pathRewritePolicy: {replacePrefix: [{replacement: a}]}, " + to:                                            route + `pathRewritePolicy.replacePrefix[0].replacement: Invalid value: "a"`,
		"pathRewritePolicy: {replacePrefix: [{replacement: /a}, {replacement: /b}]}, " + to:                        route + `pathRewritePolicy.replacePrefix[1].prefix: Duplicate value: ""`,
		"conditions: [{exact: /a}], pathRewritePolicy: {replacePrefix: [{replacement: /a}]}, " + to:                route + "pathRewritePolicy.replacePrefix: Forbidden: the route has no condition on a prefix",
		"services: [{name: a, port: 80, mirror: true}]":                                                            route + "services: Required value",
		"services: [{name: a, port: 80, mirror: true, weight: 101}, {name: b, port: 80}]":                          route + "services[0].weight: Invalid value: 101: must be between 1 and 100 for a mirror",
		"services: [{name: a, port: 80, mirror: true}, {name: b, port: 80}, {name: c, port: 80, mirror: true}]":    route + "services: Invalid value: 2: must have at most one mirror",
		"services: [{name: a, port: 80, mirror: true, responseHeadersPolicy: {remove: [b]}}, {name: b, port: 80}]": route + "services[0].mirror: Forbidden",
		"services: [{name: a, port: 80, protocol: h3}]":                                                            route + `services[0].protocol: not supported: "h3"`,
		"services: [{name: a, port: 80, protocol: tls}]":                                                           route + "services[0].validation: Required value: without it TLS is spoken that verifies nothing",
		"services: [{name: a, port: 80, protocol: h2c, validation: {caSecret: a, subjectName: b}}]":                route + "services[0].validation: Forbidden: h2c is spoken without TLS",
		verified("subjectName: b"):                                                                                 route + "services[0].validation.caSecret: Required value",
		verified("caSecret: a"):                                                                                    route + "services[0].validation.subjectName: Required value",
		verified("caSecret: a/b, subjectName: b"):                                                                  route + `services[0].validation.caSecret: Invalid value: "a/b": not supported`,
		verified("caSecret: A, subjectName: b"):                                                                    route + `services[0].validation.caSecret: Invalid value: "A"`,
		verified("caSecret: a, subjectName: '*.b'"):                                                                route + `services[0].validation.subjectName: Invalid value: "*.b"`,
		verified("caSecret: a, subjectName: b, subjectNames: [c]"):                                                 route + `services[0].validation.subjectNames[0]: Invalid value: "c": must be subjectName`,
		verified("caSecret: a, subjectName: b, subjectNames: [b, b, b, b, b, b, b, b, b]"):                         route + "services[0].validation.subjectNames: Too many: 9",
		slow(`window: 500ms`):                                                                                      route + `services[0].slowStartPolicy.window: Invalid value: "500ms": not supported`,
		slow(`window: soon`):                                                                                       route + `services[0].slowStartPolicy.window: Invalid value: "soon"`,
		slow(`minWeightPercent: 5`):                                                                                route + `services[0].slowStartPolicy.window: Invalid value: ""`,
		slow(`window: 1s, aggression: "1.5"`):                                                                      route + `services[0].slowStartPolicy.aggression: Invalid value: "1.5": not supported`,
		slow(`window: 1s, minWeightPercent: 0`):                                                                    route + `services[0].slowStartPolicy.minWeightPercent: Invalid value: 0: must be between 1 and 100`,
	} {
		cases[text] = refusal{document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{"+text+"}]}"), []string{why}}
	}
	cases["two slow starts"] = refusal{document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{services: "+
		"[{name: a, port: 80, slowStartPolicy: {window: 1s}}, {name: b, port: 80}]}]}"), []string{route + "services[1].slowStartPolicy: Forbidden: not supported"}}
	cases["a slow mirror"] = refusal{
		document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{services: "+
			"[{name: a, port: 80}, {name: b, port: 80, mirror: true, slowStartPolicy: {window: 1s}}]}]}"),
		[]string{route + "services[1].slowStartPolicy: Forbidden: not supported for a mirror"},
	}
	checkRefusals(t, resource.Options{}, cases)
}

// TestCORSOfHTTPProxies holds what is refused: what an HTTPRoute's CORS can't say, and what Contour does not admit.
func TestCORSOfHTTPProxies(t *testing.T) {
	const at = "spec.virtualhost.corsPolicy."
	cases := map[string]refusal{"of connections": {
		document(httpProxy, "spec: {virtualhost: {fqdn: a.org, tls: {passthrough: true}, "+
			"corsPolicy: {allowOrigin: ['*'], allowMethods: [GET]}}, tcpproxy: {services: [{name: a, port: 80}]}}"),
		[]string{"spec.virtualhost.corsPolicy: Forbidden: a tcpproxy's connections are not looked into"},
	}}
	for text, why := range map[string]string{
		"allowMethods: [GET]": at + "allowOrigin: Required value",
		"allowOrigin: ['*']":  at + "allowMethods: Required value",
		"allowMethods: [GET], allowOrigin: ['https://.*\\.a\\.org']":         at + "allowOrigin[0]: Invalid value",
		"allowMethods: [GET], allowOrigin: [https://a.org/]":                 at + "allowOrigin[0]: Invalid value",
		"allowMethods: [GET], allowOrigin: [a.org]":                          at + "allowOrigin[0]: Invalid value",
		"allowMethods: [a b], allowOrigin: ['*']":                            at + `allowMethods[0]: Invalid value: "a b"`,
		"allowMethods: [GET], allowOrigin: ['*'], allowHeaders: ['a,b']":     at + `allowHeaders[0]: Invalid value: "a,b"`,
		"allowMethods: [GET], allowOrigin: ['*'], exposeHeaders: ['a:b']":    at + `exposeHeaders[0]: Invalid value: "a:b"`,
		"allowMethods: [GET], allowOrigin: ['*'], maxAge: '0'":               at + `maxAge: Invalid value: "0": not supported`,
		"allowMethods: [GET], allowOrigin: ['*'], maxAge: 1500ms":            at + `maxAge: Invalid value: "1500ms": not supported`,
		"allowMethods: [GET], allowOrigin: ['*'], maxAge: soon":              at + `maxAge: Invalid value: "soon"`,
		"allowMethods: [GET], allowOrigin: ['*'], allowPrivateNetwork: true": at + "allowPrivateNetwork: not supported",
	} {
		cases[text] = refusal{document(httpProxy, "spec: {virtualhost: {fqdn: a.org, corsPolicy: {"+text+"}}, "+
			"routes: [{services: [{name: a, port: 80}]}]}"), []string{why}}
	}
	checkRefusals(t, resource.Options{}, cases)
}

// TestVirtualServicesAsHTTPRoutes holds what a VirtualService's matches and destinations are in an HTTPRoute.
func TestVirtualServicesAsHTTPRoutes(t *testing.T) {
	const to = "route: [{destination: {host: a, port: {number: 80}}}]"
	for route, want := range map[string]string{
		to:                                      "-> Hostname a:80=100",
		"match: [{uri: {exact: /a}}], " + to:    "[Exact /a] -> Hostname a:80=100",
		"match: [{uri: {prefix: /}}], " + to:    "[PathPrefix /] -> Hostname a:80=100",
		"match: [{uri: {prefix: /a.b}}], " + to: `[RegularExpression /a\.b.*] -> Hostname a:80=100`,
		"match: [{uri: {regex: /a+}}], " + to:   "[RegularExpression /a+] -> Hostname a:80=100",
		"match: [{uri: {exact: /a}, ignoreUriCase: true}], " + to:                                         "[PathPrefix /] -> Hostname a:80=100",
		"match: [{name: m}, {uri: {exact: /a}}], " + to:                                                   "[PathPrefix /] [Exact /a] -> Hostname a:80=100",
		"route: [{destination: {host: a}, weight: 70}, {destination: {host: a, subset: v2}, weight: 30}]": "-> Hostname a:0=70 Hostname a:0=30",
		"route: [{destination: {host: a}}, {destination: {host: b}, weight: 100}]":                        "-> Hostname a:0=0 Hostname b:0=100",
		"route: [{destination: {host: a}, weight: 50}]":                                                   "-> Hostname a:0=50",
		"redirect: {uri: /b}": "->",
	} {
		objects, rep := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true}, document(virtualServ, `spec: {hosts: [a.org, "*"], http: [{name: pay, retries: {attempts: 2}, `+route+`}]}`))
		if problems := rep.Errors(false); problems != nil {
			t.Fatal(problems)
		}
		got := objects.Routes[0]
		rule := got.Value.Spec.Rules[0]
		if text := formatRule(rule); text != want {
			t.Errorf("%s: got %s, want %s", route, text, want)
		}
		if len(got.Value.Spec.Hostnames) != 1 || *rule.Name != "pay" || *rule.Retry.Attempts != 2 || got.Kind != "VirtualService" {
			t.Errorf("%s: got %s with %v", route, got.Kind, got.Value.Spec)
		}
	}
}

// TestVirtualServicesBeyondHTTPRoutes holds what Gateway API has no fields for.
func TestVirtualServicesBeyondHTTPRoutes(t *testing.T) {
	objects, _ := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true}, document(virtualServ,
		"spec: {hosts: [a.org], gateways: [mesh, a/b], http: ["+
			"{match: [{name: m}, {}], route: [{destination: {host: a}}, {destination: {host: a, subset: v2}}], mirror: {host: c}}, {delegate: {name: d}}]}"))
	route := objects.Routes[0]
	want := []foreign.Rule{{MatchNames: []string{"m", ""}, Subsets: []string{"", "v2"}}, {Delegates: true}}
	if !reflect.DeepEqual(route.RuleExtras, want) || route.Value.Spec.Rules[0].Filters[0].RequestMirror.BackendRef.Name != "c" {
		t.Errorf("got %+v, want %+v", route.RuleExtras, want)
	}
	if refs := route.Value.Spec.ParentRefs; len(refs) != 1 || refs[0].Name != "b" || *refs[0].Namespace != "a" || route.Path("spec.parentRefs[0]") != "spec.gateways[1]" {
		t.Errorf("its parents are %+v", refs)
	}
	if len(route.Unserved) != 1 || route.Unserved[0].Path != "spec.gateways[0]" {
		t.Errorf("unserved are %+v", route.Unserved)
	}
}

// TestFieldsOfConvertedKinds are reported by the names that they have in the document.
func TestFieldsOfConvertedKinds(t *testing.T) {
	objects, _ := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true},
		document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{services: [{name: a, port: 80}]}]}"),
		document(virtualServ, "spec: {hosts: [a.org], http: [{route: [{destination: {host: a}}]}]}"))
	for path, c := range map[string]struct {
		of   interface{ Path(string) string }
		want string
	}{
		"spec.rules[0].backendRefs[1].port": {objects.HostRoutes[0], "spec.routes[0].services[1].port"},
		"spec.hostnames":                    {objects.HostRoutes[0], "spec.virtualhost.fqdn"},
		"spec.rules[0].matches[0]":          {objects.Routes[0], "spec.http[0].match[0]"},
		"spec.rules[0].retry":               {objects.Routes[0], "spec.http[0].retries"},
	} {
		if got := c.of.Path(path); got != c.want {
			t.Errorf("%s: got %s, want %s", path, got, c.want)
		}
	}
}

// TestIstioGatewaysAsGateways have one listener for every host, namespace and route.
func TestIstioGatewaysAsGateways(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true}, document(istioGateway, "spec: {selector: {istio: ingressgateway}, servers: [{port: {number: 80, name: a, protocol: HTTP}, hosts: [a.org]}]}"))
	if problems := rep.Errors(false); problems != nil {
		t.Fatal(problems)
	}
	o := objects.Gateways[0]
	listeners := o.Value.Spec.Listeners
	if o.Kind != object.KindIstioGateway || o.Value.Spec.Infrastructure.Labels["istio"] != "ingressgateway" || o.Value.Spec.GatewayClassName != "" {
		t.Errorf("got %+v", o)
	}
	if len(listeners) != 1 || listeners[0].Hostname != nil || *listeners[0].AllowedRoutes.Namespaces.From != gatewayv1.NamespacesFromAll {
		t.Errorf("its listeners are %+v", listeners)
	}
}
