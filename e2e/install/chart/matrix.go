package chart

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Matrix are values that switch everything on and off, alone and together.
var Matrix = map[string]string{
	"as it comes": ``,
	"one, without extras": `{replicaCount: 1, podDisruptionBudget: {enabled: false}, topologySpread: {enabled: false},
		crds: {enabled: false}, gatewayClass: {create: false}}`,
	"everything": `{autoscaling: {enabled: true}, networkPolicy: {enabled: true, envoys: [{namespaceSelector: {}}],
		monitoring: [{podSelector: {}}]},
		serviceMonitor: {enabled: true, labels: {release: prometheus}}, dashboards: {enabled: true},
		alerts: {enabled: true, by: [gateway], labels: {release: prometheus}},
		managedEnvoys: {enabled: true, infrastructureKeys: [team, "service.beta.kubernetes.io/*"]}, podLabels: {team: edge},
		podAnnotations: {a: b}, nodeSelector: {kubernetes.io/os: linux},
		tolerations: [{key: edge, operator: Exists}], priorityClassName: system-cluster-critical,
		affinity: {nodeAffinity: {}}, imagePullSecrets: [registry],
		serviceAccount: {annotations: {a: b}}, fullnameOverride: edge}`,
	"a network policy for all":  `{networkPolicy: {envoys: []}}`,
	"no network policy":         `{networkPolicy: {enabled: false}}`,
	"its own account and roles": `{serviceAccount: {create: false, name: other}, rbac: {create: false}}`,
	"cert-manager":              `{tls: {certManager: {enabled: true, issuerRef: {name: ca, kind: ClusterIssuer}}}}`,
	"certificates of others":    `{tls: {create: false, secretName: theirs}, tokenAudience: ""}`,
	"an image by digest":        `{image: {digest: "sha256:` + strings.Repeat("0a", 32) + `"}}`,
	"IPv6, text, no statuses": `{serve: {bindAddress: "[::]", logFormat: text, addressPool: "fd00::/112",
		tracesTo: "otel:4317", extraArgs: [--ack-deadline=30s]}, writeStatus: false}`,
	"managed, without statuses": `{writeStatus: false, serve: {bindAddress: "[::]"}, keys: {rotateEvery: 12h},
		managedEnvoys: {enabled: true},
		gatewayClass: {parametersRef: {group: limpet.dev, kind: ProxyConfig, namespace: limpet-system, name: edge}}}`,
	"keys that stay": `{keys: {rotateEvery: "", secretName: ring}}`,
}

// Values reads values, which are part of the tests.
func Values(text string) map[string]any {
	var values map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return values
}
