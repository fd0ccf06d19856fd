package backend_test

import (
	"strings"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/foreign"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

const serviceEntry = `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: e}
spec: {hosts: [one.example.com, two.example.com], ports: [{number: 8443, name: http, protocol: HTTP}]}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: several}
spec: {hosts: [several.example.com], ports: [{number: 80, name: a, protocol: HTTP}, {number: 81, name: b, protocol: HTTP}]}`

// newUnverified indexes documents, which may be Istio's, for a control plane with a kind of backend of its own.
func newUnverified(t *testing.T, documents ...string) *backend.Index {
	t.Helper()
	objects, rep := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true}, documents...)
	if len(rep.Unreadable()) > 0 {
		t.Fatal(rep.Errors(false))
	}
	return backend.NewUnverified(objects, runtimeschema.GroupKind{Group: "gateway.envoyproxy.io", Kind: "Backend"})
}

// TestControlPlaneFindsServices holds where references lead where a control plane judges them: to Services that need not
// be in the input, of any namespace.
func TestControlPlaneFindsServices(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		ref       string
		name      string
		object    string
		protocol  backend.Protocol
		clientIP  bool
	}{
		"a Service that is not in the input":  {nil, "{name: gone, port: 80}", "default/gone:80", "Service default/gone", "", false},
		"of another namespace, without grant": {nil, "{name: cart, namespace: shop, port: 80}", "shop/cart:80", "Service shop/cart", "", false},
		"one of the input":                    {[]string{service(", sessionAffinity: ClientIP")}, "{name: cart, port: 80}", "default/cart:80", "Service default/cart", "", true},
		"its protocol":                        {[]string{strings.Replace(service(""), "port: 80", "port: 80, appProtocol: kubernetes.io/h2c", 1)}, "{name: cart, port: 80}", "default/cart:80", "Service default/cart", backend.HTTP2, false},
		"a port that it lacks":                {[]string{strings.Replace(service(""), "port: 80", "port: 80, appProtocol: kubernetes.io/h2c", 1)}, "{name: cart, port: 81}", "default/cart:81", "Service default/cart", "", false},
		"a kind of the control plane's":       {nil, "{group: gateway.envoyproxy.io, kind: Backend, name: cart}", "backend/default/cart", "Backend default/cart", "", false},
		"and of another namespace":            {nil, "{group: gateway.envoyproxy.io, kind: Backend, name: cart, namespace: shop}", "backend/shop/cart", "Backend shop/cart", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			x := newUnverified(t, append(c.documents, serviceEntry)...)
			b := mustResolve(t, x, c.ref)
			if b.Name != c.name || b.Object.String() != c.object || b.Protocol != c.protocol || b.ClientIP != c.clientIP {
				t.Errorf("got %+v", b.Identity)
			}
			if again := mustResolve(t, x, c.ref); again != b {
				t.Error("two references give two backends")
			}
		})
	}
}

// TestIstioHosts holds what a host of Istio's registry stands for: a Service where its name is one's, else the host.
func TestIstioHosts(t *testing.T) {
	host := func(name string) string { return "{group: networking.istio.io, kind: Hostname, " + name + "}" }
	for name, c := range map[string]struct{ ref, name, object, subset string }{
		"a Service's full name":             {host("name: cart.shop.svc.cluster.local, port: 80"), "shop/cart:80", "Service shop/cart", ""},
		"a name without a dot":              {host("name: cart, port: 80"), "default/cart:80", "Service default/cart", ""},
		"the only port of a Service":        {host("name: cart"), "default/cart:80", "Service default/cart", ""},
		"no port, and no Service":           {host("name: gone"), "default/gone:0", "Service default/gone", ""},
		"a host outside":                    {host("name: api.example.com, port: 443"), "host/api.example.com:443", "Hostname api.example.com", ""},
		"the only port of a ServiceEntry":   {host("name: two.example.com"), "host/two.example.com:8443", "Hostname two.example.com", ""},
		"a ServiceEntry of several ports":   {host("name: several.example.com"), "host/several.example.com:0", "Hostname several.example.com", ""},
		"no ServiceEntry":                   {host("name: gone.example.com"), "host/gone.example.com:0", "Hostname gone.example.com", ""},
		"more labels than a Service's name": {host("name: a.b.c.svc.cluster.local, port: 80"), "host/a.b.c.svc.cluster.local:80", "Hostname a.b.c.svc.cluster.local", ""},
		"a subset of a Service":             {host("name: cart, port: 80"), "default/cart:80/v1", "Service default/cart", "v1"},
		"a subset of a host":                {host("name: one.example.com"), "host/one.example.com:8443/v1", "Hostname one.example.com", "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newUnverified(t, service(""), serviceEntry)
			b := resolvePart(t, x, c.ref, c.subset)
			if b.Name != c.name || b.Object.String() != c.object || b.Subset != c.subset {
				t.Errorf("got %+v, want %+v", b.Identity, c)
			}
			if again := resolvePart(t, x, c.ref, c.subset); again != b {
				t.Error("two references give two backends")
			}
		})
	}
}

// resolvePart follows the only reference of a rule, to a part of its hosts.
func resolvePart(t *testing.T, x *backend.Index, refYAML, subset string) *backend.Backend {
	t.Helper()
	rule := gatewayv1.HTTPRouteRule{BackendRefs: make([]gatewayv1.HTTPBackendRef, 1)}
	if err := yaml.UnmarshalStrict([]byte(refYAML), &rule.BackendRefs[0].BackendRef); err != nil {
		t.Fatal(err)
	}
	route := &gatewayv1.HTTPRoute{Spec: gatewayv1.HTTPRouteSpec{Rules: []gatewayv1.HTTPRouteRule{rule}}}
	return x.ResolveOf(&resource.Object[gatewayv1.HTTPRoute]{
		Kind: "HTTPRoute", Namespace: "default", Name: "cart", Value: route, RuleExtras: []foreign.Rule{{Subsets: []string{subset}}},
	}, 0, 0)
}

// TestControlPlaneReferencesThatAreRefused are those that no control plane could follow.
func TestControlPlaneReferencesThatAreRefused(t *testing.T) {
	for ref, want := range map[string]string{
		"{name: cart}": "ref.port: Required value",
		"{group: example.com, kind: Backend, name: cart}": `ref.group: Unsupported value: "example.com"`,
		"{kind: Pod, name: cart, port: 80}":               `ref.kind: Unsupported value: "Pod"`,
	} {
		x := newUnverified(t, service(""))
		if b, refused := resolve(t, x, ref); b != nil || refused == nil || !strings.Contains(refused.Error(), want) {
			t.Errorf("%s: got %v and %v, want %s", ref, b, refused, want)
		}
	}
}
