package compiler

import (
	"fmt"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
)

// statusBase is what tests of policies have in common: two listeners, a Service with a host and one that nobody uses.
const statusBase = compilertest.Shop

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
