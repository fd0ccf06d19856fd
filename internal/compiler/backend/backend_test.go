package backend_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// newIndex indexes the objects of documents.
func newIndex(t *testing.T, documents ...string) (*backend.Index, *report.Report) {
	t.Helper()
	rep := &report.Report{}
	return indexObjects(compilertest.Admit(t, documents...), rep), rep
}

func indexObjects(objects *resource.Objects, rep *report.Report) *backend.Index {
	return indexWithin(objects, nil, rep)
}

// indexWithin is indexObjects where endpoints are not everywhere.
func indexWithin(objects *resource.Objects, places *backend.Places, rep *report.Report) *backend.Index {
	var ports []*backend.ServicePort
	for _, in := range backend.GatherPorts(objects, nil, places) {
		ports = append(ports, backend.BuildPort(in))
	}
	return backend.NewIndex(objects, ports, nil, places, rep)
}

// resolve follows a backendRef of an HTTPRoute in the namespace default.
func resolve(t *testing.T, x *backend.Index, refYAML string) (*backend.Backend, *field.Error) {
	t.Helper()
	var ref gatewayv1.BackendRef
	if err := yaml.UnmarshalStrict([]byte(refYAML), &ref); err != nil {
		t.Fatal(err)
	}
	route := &resource.Object[gatewayv1.HTTPRoute]{Kind: "HTTPRoute", Namespace: "default", Name: "cart"}
	return x.Resolve(route, field.NewPath("ref"), ref)
}

// mustResolve is resolve for a reference that leads to a backend.
func mustResolve(t *testing.T, x *backend.Index, refYAML string) *backend.Backend {
	t.Helper()
	b, refused := resolve(t, x, refYAML)
	if refused != nil {
		t.Fatal(refused)
	}
	return b
}

// service is a Service "cart" with one port, 80, called http, and more of its spec.
func service(spec string) string {
	return "apiVersion: v1\nkind: Service\nmetadata: {name: cart}\nspec: {ports: [{name: http, port: 80}]" + spec + "}"
}

// slice is an EndpointSlice of the Service with a port 8080 called http.
func slice(name, addressType, endpoints string) string {
	return "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n" +
		"metadata: {name: " + name + ", labels: {kubernetes.io/service-name: cart}}\n" +
		"addressType: " + addressType + "\nports: [{name: http, port: 8080}]\nendpoints: [" + endpoints + "]"
}

// endpoint is one with conditions, which may be empty.
func endpoint(address, conditions string) string {
	return `{addresses: ["` + address + `"], conditions: {` + conditions + "}}"
}

// formatEndpoints gives addresses, with a star on those that drain.
func formatEndpoints(b *backend.Backend) string {
	var all []string
	for _, e := range b.Endpoints {
		text := e.Address.String()
		if e.Draining {
			text += "*"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// TestEndpointsOfAService holds which endpoints of EndpointSlices serve a Service's port, and which of them drain.
//
// requirements: S41
func TestEndpointsOfAService(t *testing.T) {
	unready := endpoint("10.0.0.1", "ready: false, serving: false")
	for name, c := range map[string]struct {
		spec   string
		slices []string
		want   string
	}{
		"no slice":                               {"", nil, ""},
		"without conditions it is ready":         {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", ""))}, "10.0.0.1:8080"},
		"ready":                                  {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "ready: true"))}, "10.0.0.1:8080"},
		"terminating and serving drains":         {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true, terminating: true"))}, "10.0.0.1:8080*"},
		"terminating and not serving is gone":    {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: false, terminating: true"))}, ""},
		"serving, not ready, not terminating":    {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true"))}, ""},
		"neither ready nor serving":              {"", []string{slice("a", "IPv4", unready)}, ""},
		"those of all slices, by address":        {"", []string{slice("b", "IPv4", endpoint("10.0.0.10", "")+","+endpoint("10.0.0.9", "")), slice("a", "IPv4", endpoint("10.0.0.2", ""))}, "10.0.0.2:8080 10.0.0.9:8080 10.0.0.10:8080"},
		"ready in one of two slices is ready":    {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "")), slice("b", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true, terminating: true"))}, "10.0.0.1:8080"},
		"draining first and ready then is too":   {"", []string{slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true, terminating: true")), slice("b", "IPv4", endpoint("10.0.0.1", ""))}, "10.0.0.1:8080"},
		"the slice's port has the port's name":   {"", []string{strings.Replace(slice("a", "IPv4", endpoint("10.0.0.1", "")), "[{name: http, port: 8080}]", "[{name: admin, port: 9}, {name: http, port: 8081}]", 1)}, "10.0.0.1:8081"},
		"a slice without the port":               {"", []string{strings.Replace(slice("a", "IPv4", endpoint("10.0.0.1", "")), "name: http", "name: other", 1)}, ""},
		"a slice whose port is of UDP":           {"", []string{strings.Replace(slice("a", "IPv4", endpoint("10.0.0.1", "")), "port: 8080", "port: 8080, protocol: UDP", 1)}, ""},
		"a slice without a number":               {"", []string{strings.Replace(slice("a", "IPv4", endpoint("10.0.0.1", "")), ", port: 8080", "", 1)}, ""},
		"a slice of another namespace":           {"", []string{strings.Replace(slice("a", "IPv4", endpoint("10.0.0.1", "")), "{name: a,", "{name: a, namespace: other,", 1)}, ""},
		"of two families, IPv4":                  {"", []string{slice("a", "IPv6", endpoint("fd00::1", "")), slice("b", "IPv4", endpoint("10.0.0.1", ""))}, "10.0.0.1:8080"},
		"of two families, the Service's first":   {", ipFamilies: [IPv6, IPv4]", []string{slice("a", "IPv6", endpoint("fd00::1", "")), slice("b", "IPv4", endpoint("10.0.0.1", ""))}, "[fd00::1]:8080"},
		"the other family if the first has none": {", ipFamilies: [IPv4, IPv6]", []string{slice("a", "IPv6", endpoint("fd00::1", "")), slice("b", "IPv4", unready)}, "[fd00::1]:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := newIndex(t, append(c.slices, service(c.spec))...)
			b := mustResolve(t, x, "{name: cart, port: 80}")
			if got := formatEndpoints(b); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if want := c.want != "" && !strings.HasSuffix(c.want, "*"); b.Ready() != want {
				t.Errorf("Ready is %t, want %t", b.Ready(), want)
			}
		})
	}
}

// TestPortsOfAService holds what a port's backend is called, and what of its Service is taken over.
func TestPortsOfAService(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want backend.Identity
	}{
		"as it is":               {"", backend.Identity{}},
		"an affinity of its own": {", sessionAffinity: ClientIP", backend.Identity{ClientIP: true}},
		"no affinity":            {", sessionAffinity: None", backend.Identity{}},
		"a traffic distribution": {", trafficDistribution: PreferClose", backend.Identity{TrafficDistribution: "PreferClose"}},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := newIndex(t, service(c.spec))
			got := mustResolve(t, x, "{name: cart, port: 80}").Identity
			if got.Name != "default/cart:80" || got.Service != "default/cart" || got.Object.String() != "Service default/cart" ||
				got.Port != 80 || got.Cluster != "service/default/cart/80" || got.Subset != "" {
				t.Errorf("got %+v", got)
			}
			if got.ClientIP != c.want.ClientIP || got.TrafficDistribution != c.want.TrafficDistribution {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestProtocolsOfPorts reads appProtocol.
//
// requirements: S47
func TestProtocolsOfPorts(t *testing.T) {
	for appProtocol, want := range map[string]backend.Protocol{
		"":                  backend.ProtocolUnset,
		"http":              backend.HTTP1,
		"kubernetes.io/ws":  backend.HTTP1,
		"ws":                backend.HTTP1,
		"kubernetes.io/h2c": backend.HTTP2,
		"h2c":               backend.HTTP2,
		"http2":             backend.HTTP2,
		"grpc":              backend.HTTP2,
	} {
		document := service("")
		if appProtocol != "" {
			document = strings.Replace(document, "port: 80", "port: 80, appProtocol: "+appProtocol, 1)
		}
		x, rep := newIndex(t, document)
		if got := mustResolve(t, x, "{name: cart, port: 80}").Protocol; got != want {
			t.Errorf("%s: got %q, want %q", appProtocol, got, want)
		}
		compilertest.CheckProblems(t, rep.Errors(false))
	}
	for _, unknown := range []string{"kubernetes.io/wss", "https", "example.com/of-its-own"} {
		x, _ := newIndex(t, strings.Replace(service(""), "port: 80", "port: 80, appProtocol: "+unknown, 1))
		_, err := resolve(t, x, "{name: cart, port: 80}")
		want := fmt.Sprintf("ref.port: Invalid value: 80: Service default/cart says of it appProtocol %q, which limpet does not speak to backends", unknown)
		if err == nil || err.Error() != want || backend.ReasonFor(err) != gatewayv1.RouteReasonUnsupportedProtocol {
			t.Errorf("%s: got %v", unknown, err)
		}
	}
}

// TestReportsOfAService holds the warnings and advice about a Service that a route uses, each once.
func TestReportsOfAService(t *testing.T) {
	ready := slice("a", "IPv4", endpoint("10.0.0.1", ""))
	for name, c := range map[string]struct {
		documents []string
		want      []string
	}{
		"nothing":                 {[]string{service(""), ready}, nil},
		"no endpoint":             {[]string{service("")}, []string{`Service default/cart: spec.ports[0]: Invalid value: 80: no EndpointSlice has a ready endpoint for the port named "http": new requests for it get 503`}},
		"draining endpoints only": {[]string{service(""), slice("a", "IPv4", endpoint("10.0.0.1", "ready: false, serving: true, terminating: true"))}, []string{"no EndpointSlice has a ready endpoint"}},
		"an affinity of its own":  {[]string{service(", sessionAffinity: ClientIP"), ready}, []string{"spec.sessionAffinity: ClientIP is not followed"}},
		"a traffic distribution":  {[]string{service(", trafficDistribution: PreferClose"), ready}, []string{"spec.trafficDistribution: every endpoint is as good as any other"}},
	} {
		t.Run(name, func(t *testing.T) {
			x, rep := newIndex(t, c.documents...)
			if !rep.Silent() {
				t.Errorf("said before a route uses it: %v", rep.Warnings())
			}
			first, second := mustResolve(t, x, "{name: cart, port: 80}"), mustResolve(t, x, "{name: cart, port: 80}")
			if first != second {
				t.Error("two references give two backends")
			}
			compilertest.CheckProblems(t, rep.Warnings(), c.want...)
		})
	}
	t.Run("two addresses of one endpoint", func(t *testing.T) {
		x, rep := newIndex(t, service(""), slice("a", "IPv4", `{addresses: [10.0.0.1, 10.0.0.2]}`))
		mustResolve(t, x, "{name: cart, port: 80}")
		compilertest.CheckProblems(t, rep.Warnings(), "EndpointSlice default/a: endpoints[0].addresses[1]: not used")
	})
}

const grantFor = `
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: g, namespace: shop}
spec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: default}], to: [{group: "", kind: Service%s}]}`

// TestReferencesThatAreRefused holds why a backendRef leads nowhere, and the reason of the route's condition for it.
//
// requirements: S35
func TestReferencesThatAreRefused(t *testing.T) {
	inShop := strings.Replace(service(""), "{name: cart}", "{name: cart, namespace: shop}", 1)
	for name, c := range map[string]struct {
		documents    []string
		ref          string
		want, reason string
	}{
		"a Service that is not there":       {nil, "{name: gone, port: 80}", `ref.name: Not found: "gone": there is no Service default/gone in the input`, "BackendNotFound"},
		"a port that is not there":          {[]string{service("")}, "{name: cart, port: 81}", "ref.port: Not found: 81: Service default/cart has no TCP port of this number (it has 80)", "BackendNotFound"},
		"no port":                           {[]string{service("")}, "{name: cart}", "ref.port: Not found: 0", "BackendNotFound"},
		"a port of UDP":                     {[]string{strings.Replace(service(""), "port: 80", "port: 80, protocol: UDP", 1)}, "{name: cart, port: 80}", "ref.port: Not found: 80", "BackendNotFound"},
		"a kind that limpet lacks":          {nil, "{kind: Pod, name: cart, port: 80}", `ref.kind: Unsupported value: "Pod": supported values: "Service"`, "InvalidKind"},
		"a group that limpet lacks":         {nil, "{group: example.com, kind: Service, name: cart, port: 80}", `ref.group: Unsupported value: "example.com"`, "InvalidKind"},
		"Istio's hosts without Istio":       {nil, "{group: networking.istio.io, kind: Hostname, name: a.b, port: 80}", "ref.group: Unsupported value", "InvalidKind"},
		"another namespace":                 {[]string{inShop}, "{name: cart, namespace: shop, port: 80}", "ref.namespace: Forbidden: no ReferenceGrant in namespace shop allows it", "RefNotPermitted"},
		"a grant for another kind":          {[]string{inShop, fmt.Sprintf(grantFor, "GRPCRoute", "")}, "{name: cart, namespace: shop, port: 80}", "ref.namespace: Forbidden", "RefNotPermitted"},
		"a grant for another name":          {[]string{inShop, fmt.Sprintf(grantFor, "HTTPRoute", ", name: other")}, "{name: cart, namespace: shop, port: 80}", "ref.namespace: Forbidden", "RefNotPermitted"},
		"an XBackend that is not there":     {nil, "{group: gateway.networking.x-k8s.io, kind: XBackend, name: gone}", "ref.name: Not found: \"gone\": there is no XBackend default/gone in the input", "BackendNotFound"},
		"an XBackend of another namespace":  {[]string{xbackend("")}, "{group: gateway.networking.x-k8s.io, kind: XBackend, name: cart, namespace: shop}", "ref.namespace: Forbidden: an XBackend must be in the route's namespace", "RefNotPermitted"},
		"a Service called like an XBackend": {[]string{xbackend("")}, "{name: cart, port: 80}", "there is no Service default/cart", "BackendNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			documents := c.documents
			if documents == nil {
				documents = []string{service("")}
			}
			x, rep := newIndex(t, documents...)
			b, refused := resolve(t, x, c.ref)
			if b != nil || refused == nil || !strings.Contains(refused.Error(), c.want) {
				t.Fatalf("got %v and %v, want %s", b, refused, c.want)
			}
			if got := backend.ReasonFor(refused); string(got) != c.reason {
				t.Errorf("the reason is %s, want %s", got, c.reason)
			}
			if !rep.Silent() {
				t.Errorf("reported too: %v %v", rep.Errors(false), rep.Warnings())
			}
		})
	}
}

// TestGrantedReference leads to another namespace.
func TestGrantedReference(t *testing.T) {
	inShop := strings.Replace(service(""), "{name: cart}", "{name: cart, namespace: shop}", 1)
	for _, name := range []string{"", ", name: cart"} {
		x, _ := newIndex(t, inShop, fmt.Sprintf(grantFor, "HTTPRoute", name))
		if b := mustResolve(t, x, "{name: cart, namespace: shop, port: 80}"); b.Name != "shop/cart:80" {
			t.Errorf("got %s", b.Name)
		}
	}
}
