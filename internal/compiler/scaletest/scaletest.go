// Package scaletest makes large inputs for benchmarks and tests.
package scaletest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// routesPerFile is how many routes stand in one file, with what belongs to them.
const routesPerFile = 500

// gatewayDocument is what all routes are attached to.
const gatewayDocument = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
`

// applicationDocument is an HTTPRoute with a hostname, a SessionPersistencePolicy, a Service and an EndpointSlice of
// its own.
const applicationDocument = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: app-%[1]d
  namespace: default
spec:
  parentRefs:
  - name: web
  hostnames:
  - app-%[1]d.example.com
  rules:
  - matches:
    - path:
        type: PathPrefix
        value: /cart
    backendRefs:
    - name: app-%[1]d
      port: 80
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata:
  name: app-%[1]d
  namespace: default
spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: app-%[1]d
  sessionName: cart
  absoluteTimeout: 8h
  idleTimeout: 20m
---
apiVersion: v1
kind: Service
metadata:
  name: app-%[1]d
  namespace: default
spec:
  ports:
  - name: http
    port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: app-%[1]d-1
  namespace: default
  labels:
    kubernetes.io/service-name: app-%[1]d
addressType: IPv4
ports:
- name: http
  port: 8080
endpoints:
- addresses: [10.0.0.1]
- addresses: [10.0.0.2]
`

// MakeRoutes gives files with a Gateway and so many HTTPRoutes, each with a hostname, a policy, a Service and an
// EndpointSlice of its own.
func MakeRoutes(routes int) []read.Source {
	sources := []read.Source{{Name: "gateway.yaml", Data: []byte(gatewayDocument)}}
	for first := 0; first < routes; first += routesPerFile {
		var b strings.Builder
		for i := first; i < min(first+routesPerFile, routes); i++ {
			fmt.Fprintf(&b, applicationDocument, i)
		}
		sources = append(sources, read.Source{Name: fmt.Sprintf("apps-%d.yaml", first), Data: []byte(b.String())})
	}
	return sources
}

// MakeRoutesOfOneHost gives what MakeRoutes does, with one hostname for all of them, each at a path of its own.
func MakeRoutesOfOneHost(routes int) []read.Source {
	own := regexp.MustCompile(`app-(\d+)\.example\.com((?s:.*?))value: /cart`)
	sources := MakeRoutes(routes)
	for i := range sources {
		sources[i].Data = own.ReplaceAll(sources[i].Data, []byte("shop.example.com${2}value: /app-$1"))
	}
	return sources
}
