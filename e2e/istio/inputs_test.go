package istio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bindLoopback keeps the gateway's listeners off other addresses than this machine's own, for tests alone.
const bindLoopback = `
---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: test-loopback, namespace: istio-system}
spec:
  configPatches:
  - applyTo: LISTENER
    match: {context: GATEWAY}
    patch: {operation: MERGE, value: {address: {socket_address: {address: 127.0.0.1}}}}
`

// policy is the session policy of the cart on a target.
func policy(target, spec string) string {
	return fmt.Sprintf(`
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: cart, namespace: app}
spec:
  targetRefs: [%s]
  sessionName: cart
  cookie: {path: /}
  %s
`, target, spec)
}

const ofVirtualService = "{group: networking.istio.io, kind: VirtualService, name: shop, sectionName: cart}"

// istioShop is the shop's Gateway and its routes, of Istio's own kinds; cart and rest are where requests go.
func istioShop(port int, cart, rest string) string {
	return fmt.Sprintf(`
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: gw, namespace: istio-system}
spec:
  selector: {istio: ingressgateway}
  servers: [{port: {number: %d, name: http, protocol: HTTP}, hosts: ["*"]}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: app}
spec:
  hosts: [shop.example.com]
  gateways: [istio-system/gw]
  http:
  - name: cart
    match: [{uri: {prefix: /cart}}, {uri: {exact: /basket}, name: basket}]
    route: [%s]
  - name: plain
    route: [%s]
`, port, cart, rest)
}

// virtualService is the shop with Istio's own routes: the cart has sessions, all else has none.
func virtualService(port int, backends []*backend, spec string) string {
	var endpoints []string
	for _, b := range backends {
		endpoints = append(endpoints, fmt.Sprintf("{address: 127.0.0.1, ports: {http: %d}}", b.port()))
	}
	const all = "{destination: {host: be.app.internal}}"
	return istioShop(port, all, all) + fmt.Sprintf(`---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: be, namespace: app}
spec:
  hosts: [be.app.internal]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints: [%s]
`, strings.Join(endpoints, ", ")) + bindLoopback + policy(ofVirtualService, spec)
}

// ingress is what a gateway needs besides its routes: a class, and the Service and the pod behind it.
func ingress(port int) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec: {controllerName: istio.io/gateway-controller}
---
apiVersion: v1
kind: Service
metadata: {name: ingress, namespace: istio-system}
spec: {clusterIP: 10.0.0.9, selector: {istio: ingressgateway}, ports: [{name: http, port: 80, targetPort: %d}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gwpod, namespace: istio-system, labels: {istio: ingressgateway, gateway.networking.k8s.io/gateway-name: gate}}
status: {podIP: 127.0.0.1, phase: Running}
`, port) + endpointSlice("istio-system", "ingress", port, []endpoint{{ip: "127.0.0.1", pod: "gwpod"}})
}

// endpointSlice has the hosts of a Service, on one port and an address each.
func endpointSlice(namespace, service string, port int, hosts []endpoint) string {
	all := "  []"
	if len(hosts) > 0 {
		all = ""
	}
	for _, e := range hosts {
		of := ""
		if e.pod != "" {
			of = fmt.Sprintf(", targetRef: {kind: Pod, name: %s, namespace: %s}", e.pod, namespace)
		}
		all += fmt.Sprintf("- {addresses: [%q], conditions: {ready: %v, serving: true, terminating: %v}%s}\n", e.ip, !e.draining, e.draining, of)
	}
	return fmt.Sprintf(`
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: http, port: %[3]d, protocol: TCP}]
endpoints:
%[4]s
`, namespace, service, port, all)
}

// endpoint is a host behind a Service: its address on the Service's port, whether it drains, and its pod, if that matters.
type endpoint struct {
	ip       string
	draining bool
	pod      string
}

// gatewayAPI is the shop with Gateway API's routes: examples/istio with what else a cluster has. The hosts have one
// port and an address each.
func gatewayAPI(t testing.TB, port, target int, hosts []endpoint) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "istio", "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	input := swap(t, string(text), "gatewayClassName: istio", "gatewayClassName: istio\n  addresses: [{type: Hostname, value: ingress.istio-system.svc.cluster.local}]")
	input = swap(t, input, "spec:\n  selector: {app: be}", "spec:\n  clusterIP: 10.0.0.8\n  selector: {app: be}")
	input = swap(t, input, "targetPort: 8080", fmt.Sprintf("targetPort: %d", target))
	return input + "---" + ingress(port) + endpointSlice("app", "be", target, hosts) + bindLoopback
}

// swap replaces a text, which must be there.
func swap(t testing.TB, text, old, new string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not there any more", old)
	}
	return strings.Replace(text, old, new, 1)
}
