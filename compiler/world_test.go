package compiler

import (
	"fmt"
	"strings"
)

// statusBase is what tests of policies have in common: two listeners, a Service with a host and one that nobody uses.
const statusBase = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: 80}, {name: more, protocol: HTTP, port: 81}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: idle, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: http}]
  rules: [{name: pay, backendRefs: [{name: cart, port: 80}]}]
`

const (
	onGateway = `{group: gateway.networking.k8s.io, kind: Gateway, name: web}`
	onRoute   = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}`
	onRule    = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: pay}`
	onNoRule  = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart, sectionName: none}`
	onService = `{group: "", kind: Service, name: cart}`
	onIdle    = `{group: "", kind: Service, name: idle}`
)

const budgetOfCart = `---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: p, namespace: shop}
spec: {targetRefs: [{group: "", kind: Service, name: cart}], retryConstraint: {budget: {percent: 33}}}
`

// policyText is a policy: namespace/name, targets and the rest of the spec.
func policyText(kind, name, targets, spec string) string {
	namespace, name, _ := strings.Cut(name, "/")
	return fmt.Sprintf("---\napiVersion: limpet.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: %s}\nspec: {targetRefs: [%s], %s}\n",
		kind, name, namespace, targets, spec)
}

func loadBalancerText(name, targets, spec string) string {
	return policyText("LoadBalancerPolicy", name, targets, spec)
}

func sessionPolicyText(name, targets, spec string) string {
	return policyText("SessionPersistencePolicy", name, targets, spec)
}
