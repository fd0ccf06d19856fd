package compiler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// tenantDocuments are a class and the documents of a tenant's Gateway on port 80 with a Service and a route to it.
func tenantDocuments(namespace, hostname, more string) string {
	return strings.NewReplacer("NS", namespace, "HOST", hostname, "MORE", more).Replace(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: NS MORE}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80, hostname: "HOST"}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: NS MORE}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: s, port: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: NS}
spec: {ports: [{port: 80}]}
`)
}

const tenantClass = `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, ` +
	`spec: {controllerName: limpet.dev/compiler}}`

// TestIncumbentKeepsItsAddress: whoever comes later with an older date, and stands first in the input, gets nothing while
// limpet watches; without a memory it would.
//
// requirements: S75
func TestIncumbentKeepsItsAddress(t *testing.T) {
	class := Source{Name: "class.yaml", Data: []byte(tenantClass)}
	victim := Source{Name: "victim.yaml", Data: []byte(tenantDocuments("shop", "*.example.com", ""))}
	thief := Source{Name: "thief.yaml", Data: []byte(tenantDocuments("thief", "a.example.com", `, creationTimestamp: "1990-01-01T00:00:00Z"`))}
	o := optionsFor(TargetEnvoy)
	before, err := Compile([]Source{class, victim}, o)
	if err != nil {
		t.Fatal(err)
	}
	all := []Source{class, thief, victim}
	for name, incumbents := range map[string]*Incumbents{"": nil, "watching": before.Incumbents} {
		o.Incumbents = incumbents
		got, err := Compile(all, o)
		if err != nil {
			t.Fatal(err)
		}
		serves := fmt.Sprint(bytes.Contains(got.Main(), []byte("service/shop/s/80")), bytes.Contains(got.Main(), []byte("service/thief/s/80")))
		want := map[string]string{"": "false true", "watching": "true false"}[name]
		if serves != want {
			t.Errorf("%q: the victim and the thief are served: %s, want %s", name, serves, want)
		}
	}
}
