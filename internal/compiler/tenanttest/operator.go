package tenanttest

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// listenersPerGateway is how many namespaces have a listener on one Gateway of the operator's; 64 listeners are the
// most.
const listenersPerGateway = 30

// operatorDocuments are the class, its policy, and a Service for all.
const operatorDocuments = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: limits, namespace: limpet-system}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: GatewayClass, name: limpet}]
  override: {absoluteTimeout: 20h}
---
apiVersion: v1
kind: Secret
metadata: {name: wild, namespace: infra}
type: kubernetes.io/tls
stringData: {tls.crt: %s, tls.key: %s}
---
apiVersion: v1
kind: Service
metadata: {name: login, namespace: platform}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: login, namespace: platform, labels: {kubernetes.io/service-name: login}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.254.0.1]}, {addresses: [10.254.0.2]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: open, namespace: infra}
spec:
  gatewayClassName: limpet
  listeners:
  - {name: open, protocol: HTTP, port: %d, hostname: "*.open.example.com", allowedRoutes: {namespaces: {from: All}}}
`

// sharedGateway begins a Gateway, listenerDocument is a listener for the hosts of a namespace, and grantDocument lets
// its routes lead to the Service for all.
const (
	sharedGateway = `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s, namespace: infra}
spec:
  gatewayClassName: limpet
  listeners:
`
	listenerDocument = `  - name: %[1]s%[2]s
    protocol: %[3]s
    port: %[4]d
    hostname: "*.%[5]s"
    allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}}}
`
	grantDocument = `---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: %[1]s, namespace: platform}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: %[1]s}]
  to: [{group: "", kind: Service, name: login}]
`
)

// gatewayOf is the operator's on which a namespace has listeners.
func gatewayOf(n *Namespace) string { return fmt.Sprintf("shared-%d", n.index/listenersPerGateway) }

// OperatorSource is the operator's file. On its Gateways each honest namespace has a listener for hosts of its own, in
// the clear and over TLS; one is open to all.
func (w *World) OperatorSource() read.Source {
	var text strings.Builder
	fmt.Fprintf(&text, operatorDocuments, fmt.Sprintf("%q", w.certificate), fmt.Sprintf("%q", w.key), w.Shared)
	for _, n := range w.Namespaces[:w.Honest] {
		if n.index%listenersPerGateway == 0 {
			fmt.Fprintf(&text, sharedGateway, gatewayOf(n))
		}
		fmt.Fprintf(&text, listenerDocument, "", n.Name, "HTTP", w.Shared, n.Host())
		fmt.Fprintf(&text, listenerDocument, "tls-", n.Name, "HTTPS", w.SharedTLS, n.Host())
		text.WriteString("    tls: {certificateRefs: [{name: wild}]}\n")
	}
	for _, n := range w.Namespaces {
		fmt.Fprintf(&text, grantDocument, n.Name)
	}
	return read.Source{Name: "operator.yaml", Data: []byte(text.String())}
}
