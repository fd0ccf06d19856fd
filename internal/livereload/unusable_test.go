package livereload

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/memory"
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

// TestUnusableAddresses: one namespace's Gateways at an address that the machine has not, at one that another process has, and
// at the port of Envoy's admin interface are left out and reported, and the change of another's endpoints goes live all the
// same. All of it froze before (H2 of the security review).
//
// requirements: S74
func TestUnusableAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	port, admin := free.Addr().(*net.TCPAddr).Port, "127.0.0.1:9901"
	must(t, free.Close())
	d, err := NewDynamic(t.TempDir(), memory.New())
	must(t, err)
	d.ProbePorts, d.Reports = true, true
	d.FileMode = func(*compiler.Result) fs.FileMode { return 0o600 }
	d.Options = func(in Inputs) compiler.Options {
		return compiler.Options{
			Bind: "127.0.0.1", Envoy: &compiler.EnvoyOptions{Admin: admin, ModulePath: "/limpet.wasm"},
		}
	}
	compile := func(documents ...string) (*compiler.Result, error) {
		text := strings.Join(append(documents, class), "\n")
		return d.Compile(Inputs{Sources: []compiler.Source{{Name: "in.yaml", Data: []byte(text)}}})
	}
	first, err := compile(tenant("a", port, "", "10.0.0.11"))
	must(t, err)
	must(t, d.Start(first))
	hostile := tenant("b", port, "{value: 192.0.2.1}", "10.0.0.2") + tenant("c", taken.Addr().(*net.TCPAddr).Port, "", "10.0.0.3") +
		tenant("d", 9901, "", "10.0.0.4")
	next, err := compile(hostile, tenant("a", port, "", "10.0.0.13"))
	must(t, err)
	_, err = d.Apply(context.Background(), time.Now(), next)
	must(t, err)
	if got := len(next.Discovery.Listeners); got != 1 {
		t.Errorf("%d listeners, want that of namespace a", got)
	}
	var warnings []string
	for _, w := range next.Warnings {
		if w.Reason == "PortUnavailable" {
			warnings = append(warnings, w.Object)
		}
	}
	if got := strings.Join(warnings, ", "); got != "Gateway b/gw, Gateway c/gw, Gateway d/gw" {
		t.Errorf("told are %s", got)
	}
	if got := string(next.Discovery.Clusters[0].Resource().Content); !strings.Contains(got, "10.0.0.13") {
		t.Errorf("the change of a's endpoint is not live: %s", got)
	}
	if _, err := compile(hostile); err == nil || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("with no listener left: %v", err)
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
	d, err := NewDynamic(t.TempDir(), memory.New())
	must(t, err)
	d.Reports = true
	d.FileMode = func(*compiler.Result) fs.FileMode { return 0o600 }
	d.Options = func(Inputs) compiler.Options {
		return compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "/limpet.wasm"}}
	}
	apply := func(a, b string) *compiler.Result {
		t.Helper()
		result, err := d.Compile(Inputs{Sources: []compiler.Source{
			{Name: "class.yaml", Data: []byte(class)}, {Name: "b.yaml", Data: []byte(b)}, {Name: "a.yaml", Data: []byte(a)},
		}})
		must(t, err)
		if d.live == nil {
			must(t, d.Start(result))
			return result
		}
		_, err = d.Apply(context.Background(), time.Now(), result)
		must(t, err)
		return result
	}
	own := tenant("b", 8082, "", "10.0.0.2")
	apply(tenant("a", 8081, "", "10.0.0.11"), own)
	result := apply(tenant("a", 8081, "", "10.0.0.13"), own+othersFaults)
	live := ""
	for _, cluster := range d.live.Clusters {
		live += string(cluster.Resource().Content)
	}
	if !strings.Contains(live, "10.0.0.13") || !strings.Contains(live, "10.0.0.2") || len(d.live.Listeners) != 2 {
		t.Errorf("%d listeners; clusters: %s", len(d.live.Listeners), live)
	}
	told := map[string]bool{}
	for _, w := range result.Warnings {
		if told[w.Object] = true; strings.Contains(w.Object, " a/") || w.File != "b.yaml" {
			t.Errorf("namespace a is told: %s", w)
		}
	}
	for _, object := range []string{"Gateway b/theirs", "HTTPRoute b/regex"} {
		if !told[object] {
			t.Errorf("nothing is said of %q: %v", object, told)
		}
	}
}
