package rollout

import (
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// testInput is an input of one Gateway: paths with a session each, and the Service that each leads to.
type testInput struct {
	ports []int             // of listeners; default 80
	paths map[string]string // Service by path
	hosts map[string]string // address by Service; default 10.0.0.1
	epoch string            // of the session of /a
	key   string
	files int // EndpointFiles
}

func (w testInput) yaml() string {
	var b strings.Builder
	b.WriteString(`apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: default}
spec:
  gatewayClassName: limpet
  listeners:
`)
	if w.ports == nil {
		w.ports = []int{80}
	}
	for _, port := range w.ports {
		fmt.Fprintf(&b, "  - {name: p%d, protocol: HTTP, port: %[1]d}\n", port)
	}
	seen := map[string]bool{}
	for path, service := range w.paths {
		timeout := "8h"
		if path == "/a" && w.epoch != "" {
			timeout = w.epoch
		}
		fmt.Fprintf(&b, `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: default}
spec:
  parentRefs: [{name: g}]
  rules:
  - matches: [{path: {type: PathPrefix, value: %s}}]
    backendRefs: [{name: %s, port: 80}]
    sessionPersistence: {sessionName: x, absoluteTimeout: %s}
`, path[1:], path, service, timeout)
		if !seen[service] {
			seen[service] = true
			b.WriteString(w.service(service))
		}
	}
	return b.String()
}

func (w testInput) service(name string) string {
	host := w.hosts[name]
	if host == "" {
		host = "10.0.0.1"
	}
	return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: default, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [%s]}]
`, name, host)
}

// compile gives what Envoy discovers of a world.
func (w testInput) compile(t *testing.T) *envoy.Discovery {
	t.Helper()
	if w.key == "" {
		w.key = "first"
	}
	secret := []byte(strings.Repeat(w.key, 16))
	result, err := compiler.Compile([]compiler.Source{{Name: "world.yaml", Data: []byte(w.yaml())}}, compiler.Options{
		Keys: policyconfig.Keys{Ring: &policyconfig.KeyRing{Keys: []policyconfig.Key{{ID: w.key, Secret: secret}}}},
		Envoy: &compiler.EnvoyOptions{
			ModulePath: "limpet.wasm", Dynamic: &compiler.Dynamic{Folder: "/discovery", EndpointFiles: w.files},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Discovery
}

// namesIn gives the names of the resources in a file.
func namesIn(f File) string {
	var found []string
	content := &discoveryv3.DiscoveryResponse{}
	if err := proto.Unmarshal(f.Data, content); err != nil {
		return err.Error()
	}
	for _, r := range content.GetResources() {
		name, err := nameResource(r)
		if err != nil {
			return err.Error()
		}
		found = append(found, name)
	}
	return strings.Join(found, " ")
}
