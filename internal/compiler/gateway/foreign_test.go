package gateway

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
)

// proxyOf is an HTTPProxy for the host a.org. Its metadata begins with its name.
func proxyOf(metadata string) string {
	return "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: " + metadata + "}\n" +
		"spec: {virtualhost: {fqdn: a.org}, routes: [{services: [{name: a, port: 80}]}]}"
}

// TestHTTPProxies holds which listeners serve the host of an HTTPProxy, which names no parents.
//
// requirements: S55
func TestHTTPProxies(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		want      string
		warnings  []string
	}{
		"every listener that takes its host": {
			[]string{gatewayOf("web", onPort80+", {name: b, protocol: HTTP, port: 81, hostname: b.org}", ""), proxyOf("p")},
			"0.0.0.0:80\na.org default/web/http: p/0/0\n* default/web/http:\n0.0.0.0:81\nb.org default/web/b:", nil,
		},
		"no listener for its host": {
			[]string{gatewayOf("web", listenerOf("http", "hostname: b.org"), ""), proxyOf("p")},
			"0.0.0.0:80\nb.org default/web/http:",
			[]string{`HTTPProxy default/p: spec.virtualhost.fqdn: Invalid value: "a.org": no listener of a Gateway in the input serves this host for its namespace [NoMatchingListenerHostname]`},
		},
		"no listener for its namespace": {
			[]string{gatewayOf("web", onPort80, ""), proxyOf("p, namespace: shop")},
			"0.0.0.0:80\n* default/web/http:",
			[]string{"HTTPProxy shop/p: spec.virtualhost.fqdn: Invalid value"},
		},
		"of two for one host the older": {
			[]string{gatewayOf("web", onPort80, ""), proxyOf("a" + younger), proxyOf("b" + older)},
			"0.0.0.0:80\na.org default/web/http: b/0/0\n* default/web/http:",
			[]string{`HTTPProxy default/a: spec.virtualhost.fqdn: Invalid value: "a.org": HTTPProxy default/b, which goes first, has this host: this one serves nothing [Conflicted]`},
		},
		"of two for one host each where it may attach": {
			[]string{
				gatewayOf("web", onPort80, ""), gatewayOf("own, namespace: thief", listenerOf("http", ""), ", addresses: [{value: 10.0.0.9}]"),
				proxyOf("p, namespace: thief" + older), proxyOf("p" + younger),
			},
			"0.0.0.0:80\na.org default/web/http: p/0/0\n* default/web/http:\n10.0.0.9:80\na.org thief/own/http: p/0/0\n* thief/own/http:", nil,
		},
		"of two for one host on a listener of both the older, and each on its own": {
			[]string{
				gatewayOf("web", listenerOf("http", "allowedRoutes: {namespaces: {from: All}}"), ""),
				gatewayOf("own, namespace: shop", listenerOf("http", ""), ", addresses: [{value: 10.0.0.9}]"),
				proxyOf("a" + older), proxyOf("b, namespace: shop" + younger),
			},
			"0.0.0.0:80\na.org default/web/http: a/0/0\n* default/web/http:\n10.0.0.9:80\na.org shop/own/http: b/0/0\n* shop/own/http:",
			[]string{`HTTPProxy shop/b: spec.virtualhost.fqdn: Invalid value: "a.org": HTTPProxy default/a, which goes first, has this host on listener http of Gateway default/web: it does not attach to that listener`},
		},
		"a route of Gateway API goes first, whatever its age": {
			[]string{gatewayOf("web", onPort80, ""), proxyOf("p" + older), routeOf("r"+younger, toWeb+", hostnames: [a.org]"+oneRule)},
			"0.0.0.0:80\na.org default/web/http: r/0/0\n* default/web/http:",
			[]string{
				`HTTPProxy default/p: spec.virtualhost.fqdn: Invalid value: "a.org": HTTPRoute default/r, which goes first, has hosts in common with it on listener http of Gateway default/web, and routes of two kinds share none: it does not attach to that listener`,
				"no listener of a Gateway in the input serves this host",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, append(c.documents, limpetClass)...)
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}

// TestGatewaysOfAControlPlane holds that each Gateway has a proxy of its own, so that none conflict, and that those of
// another controller are left out.
func TestGatewaysOfAControlPlane(t *testing.T) {
	const controller = "limpet.dev/gateway-controller" // that of the class
	foreign := strings.Replace(limpetClass, "limpet.dev/gateway-controller", "example.com/other", 1)
	for name, c := range map[string]struct {
		documents []string
		want      string
		warnings  []string
	}{
		"one port, two Gateways": {
			[]string{limpetClass, gatewayOf("a", onPort80, ""), gatewayOf("b", onPort80, ""), routeOf("r", "parentRefs: [{name: b}]"+oneRule)},
			"[fd00::]:80\n* default/a/http:\n[fd00::1]:80\n* default/b/http: r/0/0", nil,
		},
		"a class that is not in the input is its own": {[]string{gatewayOf("a", onPort80, "")}, "[fd00::]:80\n* default/a/http:", nil},
		"a class of another controller": {
			[]string{foreign, gatewayOf("a", onPort80, ""), routeOf("r", "parentRefs: [{name: a}]"+oneRule)},
			"",
			[]string{"Gateway default/a: spec.gatewayClassName: its class is served by example.com/other, not by limpet.dev/gateway-controller: the Gateway is left out [advice]"},
		},
		"certificates are the control plane's affair": {
			[]string{limpetClass, gatewayOf("a", "{name: s, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: gone}]}}", "")}, "[fd00::]:443 TLS\n* default/a/s:", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildControlled(t, controller, c.documents...)
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}

// TestVirtualServices holds which of Istio's Gateways a VirtualService attaches to, and what is said where no plugin is
// written.
func TestVirtualServices(t *testing.T) {
	const istioGateway = "apiVersion: networking.istio.io/v1\nkind: Gateway\nmetadata: {name: gw, namespace: istio}\nspec: {selector: {a: b}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: [\"*\"]}]}"
	virtualService := func(spec string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v, namespace: istio}\nspec: {" + spec + ", http: [{route: [{destination: {host: a}}]}]}"
	}
	const sidecarsOnly = "not supported by istio: sessions are kept at Gateways"
	const alone = "[fd00::]:1\n* istio/gw/istio:"
	for name, c := range map[string]struct {
		spec, want string
		warnings   []string
	}{
		"a Gateway of its namespace":    {`hosts: [a.org], gateways: [gw]`, "[fd00::]:1\na.org istio/gw/istio: v/0/0\n* istio/gw/istio:", nil},
		"by its full name":              {`hosts: [a.org, b.org], gateways: [istio/gw]`, "[fd00::]:1\na.org,b.org istio/gw/istio: v/0/0\n* istio/gw/istio:", nil},
		"every host":                    {`hosts: ["*"], gateways: [gw]`, "[fd00::]:1\n* istio/gw/istio: v/0/0", nil},
		"the mesh too":                  {`hosts: [a.org], gateways: [mesh, gw]`, "[fd00::]:1\na.org istio/gw/istio: v/0/0\n* istio/gw/istio:", []string{"VirtualService istio/v: spec.gateways[0]: " + sidecarsOnly}},
		"nothing but the mesh":          {`hosts: [a.org]`, alone, []string{"VirtualService istio/v: spec.gateways: " + sidecarsOnly}},
		"a Gateway that is not there":   {`hosts: [a.org], gateways: [gone]`, alone, []string{`spec.gateways[0]: Not found: "gone": there is no Gateway istio/gone of networking.istio.io in the input: nothing is written for its proxies`}},
		"no hosts: a part of another's": {`gateways: [gw]`, alone, []string{"VirtualService istio/v: spec.hosts: not supported by istio: it has none: another VirtualService delegates to it"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildControlled(t, "istio.io/gateway-controller", istioGateway, virtualService(c.spec))
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}
