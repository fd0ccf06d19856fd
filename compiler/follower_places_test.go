package compiler

import (
	"fmt"
	"strings"
	"testing"
)

// placesBase are two Gateways with proxies of their own, a ListenerSet of the first, and a Service.
const placesBase = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: one}
spec:
  gatewayClassName: limpet
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: two}
spec:
  gatewayClassName: limpet
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec: {ports: [{port: 80}]}
`

const placesSet = `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more}
spec:
  parentRef: {name: GATEWAY}
  listeners: [{name: more, protocol: HTTP, port: 8080}]
`

// newPlacedRoute makes a route of a line: its name, its parents with a plus between them, a hostname or "-", and the name of its cookie.
func newPlacedRoute(line string) Source {
	words := strings.Fields(line)
	var parents []string
	for name := range strings.SplitSeq(words[1], "+") {
		kind := "Gateway"
		if name == "more" {
			kind = "ListenerSet"
		}
		parents = append(parents, fmt.Sprintf("{group: gateway.networking.k8s.io, kind: %s, name: %s}", kind, name))
	}
	hostnames, session := "", ""
	if words[2] != "-" {
		hostnames = fmt.Sprintf("hostnames: [%q], ", words[2])
	}
	if len(words) > 3 {
		session = fmt.Sprintf("sessionPersistence: {sessionName: %s}, ", words[3])
	}
	return Source{Name: words[0] + ".yaml", Data: []byte(fmt.Sprintf(
		"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s}, spec: {parentRefs: [%s], %s"+
			"rules: [{%sbackendRefs: [{name: app, port: 80}]}]}}", words[0], strings.Join(parents, ", "), hostnames, session))}
}

// TestFollowerPlaces: on a server the routes of two Gateways are compiled together where their cookies can meet, and nowhere else.
func TestFollowerPlaces(t *testing.T) {
	o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}}
	f := newFollower(t, o)
	for _, step := range []struct {
		name, set string
		groups    int
		routes    []string
	}{
		{"every host of two Gateways", "", 2, []string{"a one -", "b two -", "c one c.example", "d two c.example"}},
		{"by way of one on both", "", 1, []string{"a one -", "b two -", "c one c.example", "d one+two d.example"}},
		{"cookies of two names", "", 2, []string{"a one - sid", "b two - tid", "c one c.example"}},
		{"cookies of one name", "", 1, []string{"a one - sid", "b two - sid", "c one c.example"}},
		{"of one name at one host", "", 1, []string{"a one a.example sid", "b two *.example sid"}},
		{"of one name at two hosts", "", 2, []string{"a one a.example sid", "b two b.example sid"}},
		{"of one name no longer", "", 2, []string{"a one a.example sid", "b two a.example"}},
		{"by way of a cookie", "", 1, []string{"a one a.example sid", "b two a.example sid", "c one -", "d two -"}},
		{"a ListenerSet", "one", 2, []string{"a more -", "b one a.example", "c two a.example"}},
		{"that is another's now", "two", 2, []string{"a more -", "b one a.example", "c two a.example"}},
		{"and then gone", "", 3, []string{"a more -", "b one a.example", "c two a.example"}},
	} {
		sources := []Source{{Name: "frame.yaml", Data: []byte(placesBase)}}
		if step.set != "" {
			sources = append(sources, Source{Name: "set.yaml", Data: []byte(strings.Replace(placesSet, "GATEWAY", step.set, 1))})
		}
		for _, line := range step.routes {
			sources = append(sources, newPlacedRoute(line))
		}
		if err := compareFollowed(t, step.name, f, sources, o); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := f.state.Sizes()["groups of routes"]; n != step.groups {
			t.Errorf("%s: %d groups, want %d", step.name, n, step.groups)
		}
	}
}
