package compiler

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// newScopeKeys makes the keys of a ring with some ids, whose first one signs.
func newScopeKeys(t testing.TB, ids ...string) *ScopeKeys {
	t.Helper()
	var keys []token.Key
	for _, id := range ids {
		keys = append(keys, token.Key{ID: id, Secret: []byte(fmt.Sprintf("the secret of %-32s", id))})
	}
	ring, err := token.NewRing(keys)
	if err != nil {
		t.Fatal(err)
	}
	return &ScopeKeys{Ring: ring, Root: token.Root{Target: "envoy", Secret: []byte(strings.Repeat("root", 8))}}
}

// scopeGateway is a Gateway, and scopeRoute a route to a Service on it, both in a namespace.
func scopeGateway(namespace, uid string) Source {
	return Source{Name: "gateway " + namespace, Data: []byte(fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: %s, uid: %q}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: %[1]s}
spec: {ports: [{port: 80}]}
`, namespace, uid))}
}

func scopeRoute(namespace, name string) Source {
	return Source{Name: "route " + namespace + " " + name, Data: []byte(fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  parentRefs: [{name: edge}]
  hostnames: [%[2]s.%[1]s.example]
  rules:
  - {name: pay, sessionPersistence: {sessionName: %[2]s}, matches: [{path: {value: /a}}, {path: {value: /b}}], backendRefs: [{name: cart, port: 80}]}
  - {name: plain, matches: [{path: {value: /c}}], backendRefs: [{name: cart, port: 80}]}
`, namespace, name))}
}

// servedRoute is what a Gateway's proxies get of a route.
type servedRoute struct{ name, text string }

// readServed gives the routes of a Gateway, and its other pieces as text.
func readServed(t *testing.T, r *Result, gateway string) (routes []servedRoute, filter, all string) {
	t.Helper()
	for _, d := range r.Served {
		if d.Gateway != gateway {
			continue
		}
		for _, packed := range d.Routes {
			table := &routev3.RouteConfiguration{}
			if err := proto.Unmarshal(packed.Content, table); err != nil {
				t.Fatal(err)
			}
			if err := table.ValidateAll(); err != nil {
				t.Error(err)
			}
			for _, host := range table.GetVirtualHosts() {
				for _, route := range host.GetRoutes() {
					fields := route.GetMetadata().GetFilterMetadata()[policyconfig.RouteMetadata].GetFields()
					routes = append(routes, servedRoute{route.GetName(), fields[policyconfig.RouteField].GetStringValue()})
				}
			}
			all += string(packed.Content)
		}
		for _, packed := range append(d.Listeners, d.Clusters.Slice()...) {
			all += string(packed.Content)
		}
		filter = string(d.PluginJSON) + string(d.Filter[0].Content)
	}
	return routes, filter, all + filter
}

// TestScopesTravel: the proxies of each Gateway get the keys of the scopes that it serves, and nothing of the ring.
func TestScopesTravel(t *testing.T) {
	keys, opened := newScopeKeys(t, "one", "two"), 0
	r := compileScopes(t, newScopeFollower(t), keys, scopeGateway("shop", "1"), scopeRoute("shop", "cart"), scopeGateway("evil", "2"), scopeRoute("evil", "bait"))
	for gateway, own := range map[string]string{"shop/edge": "shop/edge/1", "evil/edge": "evil/edge/2"} {
		other := map[string]string{"shop/edge/1": "evil/edge/2", "evil/edge/2": "shop/edge/1"}[own]
		routes, _, all := readServed(t, r, gateway)
		if strings.Contains(all, "the secret of") || strings.Contains(all, `"sealed"`) || !strings.Contains(all, `"gateway": "`+own+`"`) {
			t.Errorf("%s: the ring is there, or the Gateway's id is not", gateway)
		}
		for _, route := range routes {
			sealed, list := policyconfig.CutKeys(route.text)
			if list == "" {
				continue
			}
			name, _, _ := policyconfig.CutIdentity(route.name)
			policies, errs := policyconfig.ParseRoute(list, name, policyconfig.DefaultPinHeader)
			if len(errs) > 0 || len(policies) != 1 || strings.Contains(sealed, ",") {
				t.Fatal(route, errs)
			}
			scope := policies[0].Scope
			_, _, err := token.OpenScope([]token.Root{keys.Root.ForGateway(own)}, scope, sealed)
			if _, _, stolen := token.OpenScope([]token.Root{keys.Root.ForGateway(other)}, scope, sealed); err != nil || stolen == nil {
				t.Errorf("%s: %v; with the root of %s: %v", route.name, err, other, stolen)
			}
			if !strings.Contains(scope, "/"+strings.Split(gateway, "/")[0]+"/") {
				t.Errorf("%s gets the keys of %s", gateway, scope)
			}
			opened++
		}
	}
	if opened != 4 {
		t.Errorf("%d routes have keys", opened)
	}
}

// TestScopesChange: a new route and a new ring leave the filter's configuration as it is, and with a new ring each route with sessions has
// another name, and the same policies. A Gateway of the same name later has other keys.
func TestScopesChange(t *testing.T) {
	f := newScopeFollower(t)
	first := []Source{scopeGateway("shop", "1"), scopeRoute("shop", "cart")}
	before, filter, _ := readServed(t, compileScopes(t, f, newScopeKeys(t, "one"), first...), "shop/edge")
	more, same, _ := readServed(t, compileScopes(t, f, newScopeKeys(t, "one"), append(first, scopeRoute("shop", "checkout"))...), "shop/edge")
	if filter != same || len(more) <= len(before) || !strings.Contains(fmt.Sprint(more), before[0].text) {
		t.Error("a new route changed the filter's configuration, or another route")
	}
	rotated, same, _ := readServed(t, compileScopes(t, f, newScopeKeys(t, "two", "one"), first...), "shop/edge")
	if filter != same || len(rotated) != len(before) {
		t.Error("a new ring changed the filter's configuration")
	}
	reborn, other, _ := readServed(t, compileScopes(t, f, newScopeKeys(t, "two", "one"), scopeGateway("shop", "2"), first[1]), "shop/edge")
	if filter == other {
		t.Error("another Gateway has the same configuration")
	}
	for i, route := range before {
		was, list := policyconfig.CutKeys(route.text)
		for _, now := range []servedRoute{rotated[i], reborn[i]} {
			is, same := policyconfig.CutKeys(now.text)
			if (was != is) != (list != "") || (route.name != now.name) != (list != "") || list != same {
				t.Errorf("%q is %q now", route, now)
			}
		}
		if list != "" && rotated[i].text == reborn[i].text {
			t.Errorf("%s: another Gateway has the same keys", route.name)
		}
	}
}

func newScopeFollower(t *testing.T) *Follower {
	t.Helper()
	return newFollower(t, Options{AssumeClass: true, Envoy: &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}})
}

// compileScopes follows some sources, and compares with what they come to from scratch.
func compileScopes(t *testing.T, f *Follower, keys *ScopeKeys, sources ...Source) *Result {
	t.Helper()
	update, err := f.Replace(sources, Changes{Scopes: keys})
	if err != nil {
		t.Fatal(err)
	}
	followed, err := update.Result()
	if err != nil {
		t.Fatal(err)
	}
	o := f.options
	o.Envoy = &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{Scopes: keys}}
	whole, err := Compile(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	compareServedLists(t, "", followed.Served, whole.Served)
	for i, d := range whole.Served {
		if !bytes.Equal(d.PluginJSON, followed.Served[i].PluginJSON) {
			t.Errorf("followed %s\nfrom scratch %s", followed.Served[i].PluginJSON, d.PluginJSON)
		}
	}
	return followed
}
