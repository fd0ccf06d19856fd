package envoygateway

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// object is a document, or a part of one.
type object = map[string]any

// yamlOf writes documents, each with its separator at the end.
func yamlOf(t *testing.T, docs ...object) string {
	t.Helper()
	var b strings.Builder
	for _, d := range docs {
		text, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
		b.WriteString("---\n")
	}
	return b.String()
}

// documents reads a manifest.
func documents(t *testing.T, manifest string) []object {
	t.Helper()
	var docs []object
	for _, text := range bytes.Split([]byte(manifest), []byte("\n---\n")) {
		doc := object{}
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc) > 0 {
			docs = append(docs, doc)
		}
	}
	return docs
}

// patchPolicy is an EnvoyPatchPolicy for the tests' Gateway.
func patchPolicy(name string, patches ...any) object {
	return object{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyPatchPolicy",
		"metadata": object{"name": name, "namespace": "shop"},
		"spec": object{
			"targetRef": object{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "web"},
			"type":      "JSONPatch", "jsonPatches": patches,
		},
	}
}

// base is what every input has: a class whose EnvoyProxy runs Envoy on this host, and a Gateway.
const base = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: eg}
spec:
  controllerName: gateway.envoyproxy.io/gatewayclass-controller
  parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: host, namespace: envoy-gateway-system}
---
` + hostProxy + `---
` + entry

const hostProxy = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyProxy
metadata: {name: host, namespace: envoy-gateway-system}
spec: {provider: {type: Host, host: {envoyVersion: ` + envoyVersion + `}}, concurrency: 1}
`

const entry = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: eg
  listeners: [{name: http, port: 10080, protocol: HTTP}]
---
`

// backends are Backends by name, each with its hosts.
func backends(named map[string][]string, settings string) string {
	var b strings.Builder
	for name, hosts := range named {
		var endpoints []string
		for _, h := range hosts {
			endpoints = append(endpoints, fmt.Sprintf("{ip: {address: %s, port: %s}}", h, backendPort))
		}
		fmt.Fprintf(&b, "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: Backend\nmetadata: {name: %s, namespace: shop}\nspec: {%sendpoints: [%s]}\n---\n",
			name, settings, strings.Join(endpoints, ", "))
	}
	return b.String()
}

// makeRoute makes a route of the Gateway for one hostname.
func makeRoute(kind, name, host, rules string) string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: {name: %s, namespace: shop}\nspec:\n"+
		"  parentRefs: [{name: web}]\n  hostnames: [%s]\n  rules:\n%s---\n", kind, name, host, rules)
}

// makeRef makes a reference to a Backend.
func makeRef(name string, weight int) string {
	return fmt.Sprintf("{group: gateway.envoyproxy.io, kind: Backend, name: %s, weight: %d}", name, weight)
}

// policy is a SessionPersistencePolicy for a route.
func policy(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: limpet.dev/v1alpha1\nkind: SessionPersistencePolicy\nmetadata: {name: %s, namespace: shop}\nspec:\n"+
		"  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]\n  %s\n---\n", name, kind, name, spec)
}

// compile is the manifest that the shipped command makes of documents.
func compile(t *testing.T, input string, environment []string, args ...string) string {
	t.Helper()
	return limpet(t, input, environment, append([]string{"compile", "-f", "-", "-t", "envoy-gateway", "--strict"}, args...)...)
}

// with adds what Envoy Gateway reads and limpet does not write: the manifest names it, or takes it as it is.
func with(t *testing.T, manifest, input string) string {
	t.Helper()
	written := map[string]bool{}
	identify := func(d object) string {
		meta := d["metadata"].(object)
		return fmt.Sprint(d["kind"], meta["namespace"], meta["name"])
	}
	for _, d := range documents(t, manifest) {
		written[identify(d)] = true
	}
	all := manifest + "---\n"
	for _, d := range documents(t, input) {
		if kind := d["kind"]; !written[identify(d)] && kind != "SessionPersistencePolicy" {
			all += yamlOf(t, d)
		}
	}
	return all
}
