package backend_test

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// xbackend is one called "cart" that selects app: cart on the port 9090, with more in its spec.
func xbackend(spec string) string {
	return "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: cart}\n" +
		"spec: {type: EndpointSelector, port: {number: 9090}, endpointSelector: {matchLabels: {app: cart}}" + spec + "}"
}

const toXBackend = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: cart}"

// TestEndpointsOfAnXBackend holds whose EndpointSlices have the pods that a selector selects: those of Services with the
// very same selector, and those of no Service that bear the labels.
func TestEndpointsOfAnXBackend(t *testing.T) {
	selecting := func(labels string) string { return service(", selector: {" + labels + "}") }
	ready := endpoint("10.0.0.1", "")
	free := func(labels string) string {
		return strings.Replace(slice("free", "IPv4", ready), "kubernetes.io/service-name: cart", labels, 1)
	}
	for name, c := range map[string]struct {
		documents []string
		want      string
	}{
		"nothing selects":                      {nil, ""},
		"a Service with the same selector":     {[]string{selecting("app: cart"), slice("a", "IPv4", ready)}, "10.0.0.1:9090"},
		"a Service that selects fewer":         {[]string{selecting("app: cart, track: stable"), slice("a", "IPv4", ready)}, ""},
		"a Service that selects others":        {[]string{selecting("app: pay"), slice("a", "IPv4", ready)}, ""},
		"a Service without a selector":         {[]string{service(""), slice("a", "IPv4", ready)}, ""},
		"slices of no Service with the labels": {[]string{free("app: cart, zone: a")}, "10.0.0.1:9090"},
		"slices of no Service, other labels":   {[]string{free("app: pay")}, ""},
		"slices of another namespace":          {[]string{strings.Replace(free("app: cart"), "{name: free,", "{name: free, namespace: other,", 1)}, ""},
		"draining":                             {[]string{selecting("app: cart"), slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true, terminating: true"))}, "10.0.0.1:9090*"},
		"IPv4 before IPv6":                     {[]string{selecting("app: cart"), slice("a", "IPv6", endpoint("fd00::1", "")), slice("b", "IPv4", ready)}, "10.0.0.1:9090"},
		"IPv6 where there is no IPv4":          {[]string{selecting("app: cart"), slice("a", "IPv6", endpoint("fd00::1", ""))}, "[fd00::1]:9090"},
		"one that does not serve":              {[]string{selecting("app: cart"), slice("a", "IPv4", endpoint("10.0.0.1", "ready: false"))}, ""},
		"the slice's port does not matter":     {[]string{selecting("app: cart"), strings.Replace(slice("a", "IPv4", ready), "[{name: http, port: 8080}]", "[]", 1)}, "10.0.0.1:9090"},
		"one host in two slices is there once": {[]string{selecting("app: cart"), slice("a", "IPv4", ready), free("app: cart")}, "10.0.0.1:9090"},
	} {
		t.Run(name, func(t *testing.T) {
			x, rep := newIndex(t, append(c.documents, xbackend(""))...)
			b := mustResolve(t, x, toXBackend)
			if again := mustResolve(t, x, toXBackend); again != b {
				t.Error("two references give two backends")
			}
			if got := formatEndpoints(b); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			var warnings []string
			if !b.Ready() {
				warnings = []string{"XBackend default/cart: spec.endpointSelector.matchLabels: Invalid value"}
			}
			compilertest.CheckProblems(t, rep.Warnings(), warnings...)
		})
	}
}

// TestXBackendIsItself holds what an XBackend's backend is called and how its hosts are spoken to.
func TestXBackendIsItself(t *testing.T) {
	for protocol, want := range map[string]backend.Protocol{
		"": backend.ProtocolUnset, ", protocol: HTTP": backend.ProtocolUnset, ", protocol: HTTP11": backend.HTTP1,
		", protocol: H2C": backend.HTTP2,
	} {
		x, _ := newIndex(t, xbackend(protocol))
		got := mustResolve(t, x, toXBackend)
		if got.Name != "xbackend/default/cart:9090" || got.Cluster != "xbackend/default/cart/9090" || got.Service != "" ||
			got.Object.String() != "XBackend default/cart" || got.Port != 9090 {
			t.Errorf("got %+v", got.Identity)
		}
		if got.Protocol != want {
			t.Errorf("%q: got %q, want %q", protocol, got.Protocol, want)
		}
	}
}

// TestXBackendThatCannotBeUsed holds references to an XBackend at odds with it. One without a port is no CRD's, but may be
// in documents that are only said to be admitted.
func TestXBackendThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ document, ref, want string }{
		"a port, which an XBackend has itself": {xbackend(""), strings.Replace(toXBackend, "}", ", port: 80}", 1), "ref.port: Invalid value: 80: must not be set for an XBackend"},
		"an XBackend without a port":           {strings.Replace(xbackend(""), "port: {number: 9090}, ", "", 1), toXBackend, "ref.name: Invalid value: \"cart\": the XBackend leads to no host, or has no port.number"},
		"an XBackend without a selector":       {strings.Replace(xbackend(""), ", endpointSelector: {matchLabels: {app: cart}}", "", 1), toXBackend, "the XBackend leads to no host, or has no port.number"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, rep := compilertest.TryAdmit(t, resource.Options{AssumeAdmitted: true}, c.document)
			if len(rep.Unreadable()) > 0 {
				t.Fatal(rep.Errors(false))
			}
			x := indexObjects(objects, rep)
			if b, refused := resolve(t, x, c.ref); b != nil || refused == nil || !strings.Contains(refused.Error(), c.want) {
				t.Errorf("got %v and %v, want %s", b, refused, c.want)
			}
		})
	}
}
