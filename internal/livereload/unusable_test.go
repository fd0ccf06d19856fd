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
	draining, err := NewDraining("")
	must(t, err)
	d, err := NewDynamic(t.TempDir(), draining)
	must(t, err)
	d.ProbePorts, d.Reports = true, true
	d.FileMode = func(*compiler.Result) fs.FileMode { return 0o600 }
	d.Options = func(in Inputs) compiler.Options {
		return compiler.Options{
			Bind: "127.0.0.1", Envoy: &compiler.EnvoyOptions{Admin: admin, WasmPath: "/limpet.wasm"},
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
