package controller

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/freeport"
)

// tenant is a Gateway on a port, at addresses if there are any, with a route to a Service that has an endpoint.
func tenant(namespace string, port int, addresses, endpoint string) string {
	return strings.NewReplacer("NS", namespace, "PORT", fmt.Sprint(port), "ADDRESSES", addresses, "ENDPOINT", endpoint).Replace(`
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: NS},
 spec: {gatewayClassName: limpet, addresses: [ADDRESSES], listeners: [{name: http, protocol: HTTP, port: PORT}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: NS},
 spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: s, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: NS}, spec: {ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{port: 80}],
 metadata: {name: s, namespace: NS, labels: {kubernetes.io/service-name: s}}, endpoints: [{addresses: [ENDPOINT]}]}
---`)
}

const class = `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, ` +
	`spec: {controllerName: limpet.dev/gateway-controller}}`

// newOwn makes the controller for an Envoy on this machine that serves all Gateways.
func newOwn(t *testing.T) *Controller {
	t.Helper()
	c, _ := newController(t)
	c.Served.Together, c.Probe = true, true
	c.Options = func(Input) compiler.Options {
		return compiler.Options{Bind: "127.0.0.1", Envoy: &compiler.EnvoyOptions{Admin: "127.0.0.1:9901", ModulePath: "/limpet.wasm"}}
	}
	return c
}

// takeFiles makes a pass of files, and publishes it.
func takeFiles(t *testing.T, c *Controller, files ...string) *pass {
	t.Helper()
	var sources []compiler.Source
	for i, text := range files {
		sources = append(sources, compiler.Source{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	p, _ := takeInput(t, c, Input{Sources: read.NewList(sources...)})
	return p
}

// listReported names the objects of which something new is said.
func listReported(p *pass) (objects []string) {
	for _, w := range p.warnings {
		objects = append(objects, w.Object)
	}
	slices.Sort(objects)
	return slices.Compact(objects)
}

// TestUnusableAddresses: one namespace's Gateways at an address that the machine has not, at one that another process has, and
// at the port of Envoy's admin interface are left out and reported, and the change of another's endpoints goes live all the
// same. All of it froze before (H2 of the security review). An address that is free again is taken.
//
// requirements: S74
func TestUnusableAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	c := newOwn(t)
	takeFiles(t, c, class, tenant("a", port, "", "10.0.0.11"))
	hostile := tenant("b", port, "{value: 192.0.2.1}", "10.0.0.2") + tenant("c", taken.Addr().(*net.TCPAddr).Port, "", "10.0.0.3") +
		tenant("d", 9901, "", "10.0.0.4")
	second := takeFiles(t, c, class, tenant("a", port, "", "10.0.0.13"), hostile)
	next := second.result
	if got := len(next.Served[0].Listeners); got != 1 || next.Until.IsZero() {
		t.Errorf("%d listeners, want that of namespace a; again at %v", got, next.Until)
	}
	if got := strings.Join(listReported(second), ", "); !strings.Contains(got, "Gateway b/gw, Gateway c/gw, Gateway d/gw") {
		t.Errorf("told are %s", got)
	}
	if endpoints := next.Served[0].Endpoints.Slice(); !strings.Contains(string(endpoints[0].Content), "10.0.0.13") {
		t.Errorf("the change of a's endpoint is not live: %+v", endpoints)
	}
	if _, err := c.compile(Input{Sources: read.NewList(
		compiler.Source{Name: "a.yaml", Data: []byte(class)}, compiler.Source{Name: "b.yaml", Data: []byte(hostile)},
	)}); err == nil || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("with no listener left: %v", err)
	}
	_ = taken.Close()
	again := takeFiles(t, c, class, tenant("a", port, "", "10.0.0.13"), hostile)
	if at := listAddresses(again.result.Served...); !slices.Contains(at, netip.MustParseAddrPort(taken.Addr().String())) || len(at) != 2 {
		t.Errorf("with c's address free there are listeners at %v", at)
	}
}

// TestAddressesOfOneOwner: a Gateway that moves from one address of the machine to all of them, and back, keeps its port: that its own
// Envoy listens there is in nobody's way. It was refused for good, as if another process had the port.
func TestAddressesOfOneOwner(t *testing.T) {
	port, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	c := newOwn(t)
	var envoy net.Listener
	own := func(address string) string { return tenant("a", port, "{value: "+address+"}", "10.0.0.11") }
	takeFiles(t, c, class, own("127.0.0.1"))
	for _, to := range []string{"0.0.0.0", "127.0.0.1"} {
		for _, p := range c.remembered.published {
			// as Envoy does once it has the first configuration
			if envoy, err = net.Listen("tcp", listAddresses(p.of)[0].String()); err != nil {
				t.Fatal(err)
			}
		}
		p := takeFiles(t, c, class, own(to))
		_ = envoy.Close()
		if at := listAddresses(p.result.Served...); len(at) != 1 || at[0].String() != fmt.Sprintf("%s:%d", to, port) {
			t.Errorf("moved to %s, there are listeners at %v", to, at)
		}
	}
}

// othersFaults are valid objects of a namespace that limpet does not support, or that are another controller's.
const othersFaults = `
{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: other}, spec: {controllerName: example.com/other}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: theirs, namespace: b},
 spec: {gatewayClassName: other, listeners: [{name: tls, protocol: TLS, port: 8081, tls: {mode: Passthrough}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: theirs, namespace: b},
 spec: {parentRefs: [{name: theirs}], rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: redirect, namespace: b},
 spec: {parentRefs: [{name: gw}], hostnames: [b.example], rules: [{filters: [{type: RequestRedirect, requestRedirect: {hostname: x.example}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: regex, namespace: b},
 spec: {parentRefs: [{name: gw}], hostnames: [c.example], rules: [{matches: [{path: {type: RegularExpression, value: "/a.*"}}]}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: ext, namespace: b}, spec: {type: ExternalName, externalName: x.example, ports: [{port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: FQDN, ports: [{port: 80}],
 metadata: {name: ext, namespace: b, labels: {kubernetes.io/service-name: ext}}, endpoints: [{addresses: [x.example]}]}
---`

// TestOthersFaults: what a namespace has that limpet does not support, or that is another controller's, holds up no other's
// change. Files with invalid documents are held (TestHeldFiles). All of it froze before (H2 of the security review).
func TestOthersFaults(t *testing.T) {
	c := newOwn(t)
	c.Probe = false
	own := tenant("b", 8082, "", "10.0.0.2")
	takeFiles(t, c, class, tenant("a", 8081, "", "10.0.0.11"), own)
	p := takeFiles(t, c, class, tenant("a", 8081, "", "10.0.0.13"), own+othersFaults)
	result := p.result
	served := ""
	for endpoints := range result.Served[0].Endpoints.All() {
		served += string(endpoints.Content)
	}
	if !strings.Contains(served, "10.0.0.13") || !strings.Contains(served, "10.0.0.2") || len(result.Served[0].Listeners) != 2 {
		t.Errorf("%d listeners; endpoints: %q", len(result.Served[0].Listeners), served)
	}
	for _, w := range p.warnings {
		if strings.Contains(w.Object, " a/") || w.File != "c.yaml" {
			t.Errorf("namespace a is told: %s", w)
		}
	}
	reported := listReported(p)
	for _, object := range []string{"Gateway b/theirs", "HTTPRoute b/regex"} {
		if !slices.Contains(reported, object) {
			t.Errorf("nothing is said of %q: %v", object, reported)
		}
	}
}
