package compiler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
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
	`spec: {controllerName: limpet.dev/gateway-controller}}`

// TestHolderKeepsItsAddress: whoever comes later with an older date, and stands first in the input, gets nothing while
// limpet watches; without a memory it would.
//
// requirements: S75
func TestHolderKeepsItsAddress(t *testing.T) {
	class := Source{Name: "class.yaml", Data: []byte(tenantClass)}
	victim := Source{Name: "victim.yaml", Data: []byte(tenantDocuments("shop", "*.example.com", ""))}
	thief := Source{Name: "thief.yaml", Data: []byte(tenantDocuments("thief", "a.example.com", `, creationTimestamp: "1990-01-01T00:00:00Z"`))}
	o := optionsFor(TargetEnvoy)
	o.Holders = &Holders{}
	before, err := Compile([]Source{class, victim}, o)
	if err != nil {
		t.Fatal(err)
	}
	all := []Source{class, thief, victim}
	for name, holders := range map[string]*Holders{"": nil, "watching": before.Holders} {
		o.Holders = holders
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

// TestFollowerKeepsHolders is the same for addresses and names of a Follower, which remembers by itself; a thief that was
// first stays so, too, and what nobody claims any more is free.
//
// requirements: S28, S75
func TestFollowerKeepsHolders(t *testing.T) {
	const shared, own = "port: 80, hostname", "port: 81, hostname"
	document := func(namespace, port, created string) Source {
		text := tenantDocuments(namespace, "*.example.com", created)
		text = strings.Replace(text, "rules: [{", "rules: [{sessionPersistence: {sessionName: sid}, ", 1)
		return Source{Name: namespace + ".yaml", Data: []byte(strings.Replace(text, shared, port, 1))}
	}
	const old = `, creationTimestamp: "1990-01-01T00:00:00Z"`
	class := Source{Name: "class.yaml", Data: []byte(tenantClass)}
	f, err := NewFollower(Options{Holders: &Holders{}, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		sources []Source
		want    string
	}{
		{[]Source{document("shop", shared, "")}, "shop:sid"},
		{[]Source{document("0thief", shared, old), document("shop", shared, "")}, "shop:sid"},
		{[]Source{document("0thief", own, old), document("shop", shared, "")}, "0thief:sid-DIGEST shop:sid"},
		{[]Source{document("0thief", own, old)}, "0thief:sid-DIGEST"},
		{[]Source{document("0thief", own, old), document("shop", own, "")}, "0thief:sid-DIGEST"},
	} {
		update, err := f.Replace(append(step.sources, class), Changes{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := update.Result()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range carriedPolicies(t, result) {
			namespace, _, _ := strings.Cut(p.Name, "/")
			name, _, qualified := strings.Cut(p.SessionName, "-")
			if qualified {
				name += "-DIGEST"
			}
			got = append(got, namespace+":"+name)
		}
		if text := strings.Join(got, " "); text != step.want {
			t.Errorf("got %s, want %s", text, step.want)
		}
	}
}

// sharedDocuments are a Gateway that all namespaces may attach routes to, and sharedRoute a route of one to it, with its Service.
const sharedDocuments = tenantClass + `
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 80, allowedRoutes: {namespaces: {from: All}}}]}
`

func sharedRoute(namespace, match, more string) Source {
	return Source{Name: namespace + ".yaml", Data: []byte(strings.NewReplacer("NS", namespace, "MATCH", match, "MORE", more).Replace(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: NS MORE}
spec:
  parentRefs: [{name: gw, namespace: infra}]
  hostnames: [a.org]
  rules: [{name: cart, matches: [MATCH], backendRefs: [{name: s, port: 80}], sessionPersistence: {sessionName: x-NS, type: Header}}]
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: NS}
spec: {ports: [{port: 80}]}
`))}
}

// TestEqualMatchesOfNamespaces: of equal matches of two namespaces the older route's is taken, as Gateway API says, whenever it
// comes; where neither has a date, that of the namespace that stands first in the input, and none by what it is called. A newcomer
// that may attach could take the same requests by a match that is more specific, so limpet's memory of holders is not asked.
//
// requirements: S75
func TestEqualMatchesOfNamespaces(t *testing.T) {
	const old, cart, regex = `, creationTimestamp: "1990-01-01T00:00:00Z"`, "{path: {value: /cart}}", "{path: {value: /cart}, headers: [{name: a, value: b}]}"
	infra := Source{Name: "infra.yaml", Data: []byte(sharedDocuments)}
	for name, c := range map[string]struct {
		shop, other Source
		otherFirst  bool // in the input
		want        string
	}{
		"a name that sorts first":      {sharedRoute("shop", cart, ""), sharedRoute("0thief", cart, ""), false, "shop"},
		"one that stands first":        {sharedRoute("shop", cart, ""), sharedRoute("thief", cart, ""), true, "thief"},
		"an older one":                 {sharedRoute("shop", cart, ""), sharedRoute("thief", cart, old), false, "thief"},
		"one that is no equal, by age": {sharedRoute("shop", regex, ""), sharedRoute("0thief", strings.Replace(regex, "name: a", "name: c", 1), ""), false, "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			sources := []Source{infra, c.shop, c.other}
			if c.otherFirst {
				sources = []Source{infra, c.other, c.shop}
			}
			o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
			keeping := o
			keeping.Holders = &Holders{}
			f, keeper := newFollower(t, o), newFollower(t, keeping)
			for _, step := range [][]Source{{infra, c.shop}, sources} {
				if err := compareFollowed(t, name, f, step, o); err != nil {
					t.Fatal(err)
				}
				update, err := keeper.Replace(step, Changes{})
				if err != nil {
					t.Fatal(err)
				}
				followed, err := update.Result()
				compiled, err2 := Compile(step, o)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				for _, result := range []*Result{followed, compiled} {
					text := string(result.Served[0].Routes[0].Content)
					shop, other := strings.Index(text, "httproute/shop/"), strings.Index(text, "httproute/"+strings.TrimSuffix(c.other.Name, ".yaml"))
					if len(step) == len(sources) && (shop < 0 || other < 0 || (shop < other) != (c.want == "shop")) {
						t.Errorf("%s is not first:\n%q", c.want, text)
					}
				}
			}
			slices.Reverse(sources) // a change of the order alone
			if err := compareFollowed(t, name+", reversed", f, sources, o); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRulesOfOneNameOfNamespaces: of two rules that Istio gives one name, the one whose namespace stands first has its sessions where
// neither has a date.
//
// requirements: S75
func TestRulesOfOneNameOfNamespaces(t *testing.T) {
	grant := "\n---\n{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: g, namespace: shop}, spec: " +
		"{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: 0thief}], to: [{group: '', kind: Service}]}}"
	infra := Source{Name: "infra.yaml", Data: []byte(strings.ReplaceAll(sharedDocuments, "limpet.dev/gateway-controller", "istio.io/gateway-controller") + grant)}
	shop, thief := sharedRoute("shop", "{path: {value: /cart}}", ""), sharedRoute("0thief", "{path: {value: /other}}", "")
	thief.Data = bytes.Replace(thief.Data, []byte("{name: s, port"), []byte("{name: s, namespace: shop, port"), 1)
	for want, sources := range map[string][]Source{"shop/r/rule/cart": {infra, shop, thief}, "0thief/r/rule/cart": {infra, thief, shop}} {
		result, err := Compile(sources, Options{Target: TargetIstio, Istio: &IstioOptions{WasmURL: "file:///w"}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range result.Plugin.Policies {
			got = append(got, p.Name)
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q have sessions; want %s\n%v", got, want, result.Warnings)
		}
	}
}

// TestHoldersOutlastEveryTurn: who has an address keeps it when changes come and go, and
// while the file that says so is broken, as it is for a moment where it is being written.
//
// requirements: S75
func TestHoldersOutlastEveryTurn(t *testing.T) {
	const old = `, creationTimestamp: "1990-01-01T00:00:00Z"`
	class, victim := Source{Name: "class.yaml", Data: []byte(tenantClass)}, Source{Name: "victim.yaml", Data: []byte(tenantDocuments("shop", "*.example.com", ""))}
	thief := Source{Name: "0thief.yaml", Data: []byte(tenantDocuments("0thief", "*.example.com", old))}
	twice := Source{Name: "twice.yaml", Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop}\nspec: {ports: [{port: 80}]}\n")}
	var many strings.Builder
	for i := range 17 {
		fmt.Fprintf(&many, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g%d, namespace: many}\n"+
			"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: %d}]}\n", i, 1000+i)
	}
	gateways := Source{Name: "many.yaml", Data: []byte(many.String())}
	broken := Source{Name: "victim.yaml", Data: bytes.Replace(victim.Data, []byte("port: 80, hostname"), []byte("port: 0, hostname"), 1)}
	for name, steps := range map[string][][]Source{
		"two of one name":           {{victim}, {victim, twice, thief}, {victim, thief}},
		"Gateways beyond sixteen":   {{victim}, {victim, gateways, thief}, {victim, thief}},
		"from the start":            {{victim, gateways}, {victim, gateways, thief}, {victim, thief}},
		"a file in the midst of it": {{victim}, {broken, thief}, {victim, thief}},
		"the same beyond sixteen":   {{victim, gateways}, {broken, gateways, thief}, {victim, gateways, thief}},
		"the thief comes meanwhile": {{victim}, {broken}, {broken, thief}, {victim, thief}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := NewFollower(Options{
				Holders: &Holders{}, HoldInvalid: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, sources := range steps {
				update, err := f.Replace(append(sources, class), Changes{})
				if err != nil && !bytes.Contains(sources[0].Data, []byte("port: 0")) {
					t.Fatal(err)
				}
				if err != nil {
					continue
				}
				result, err := update.Result()
				if err != nil {
					t.Fatal(err)
				}
				var routes strings.Builder
				for _, r := range result.Served[0].Routes {
					routes.Write(r.Content)
				}
				if !strings.Contains(routes.String(), "httproute/shop/r") || strings.Contains(routes.String(), "httproute/0thief/r") {
					t.Errorf("step %d: the address is the thief's\n%s", i, routes.String())
				}
			}
		})
	}
}

// TestFollowerKeepsNamesOfARoute: a rule that is put before another one of its route, under a policy's name for both, gets another
// name while limpet watches. The cookie of the rule that was there stays what it is, so that no session ends.
//
// requirements: S26, S28
func TestFollowerKeepsNamesOfARoute(t *testing.T) {
	route := func(rules ...string) Source {
		documents := tenantDocuments("shop", "*.example.com", "")
		text := tenantClass + "\n---\n" + strings.Replace(documents, "rules: [{", "rules: ["+strings.Join(rules, "")+"{name: old, ", 1) +
			"---\n{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p, namespace: shop}, " +
			"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}], sessionName: app}}\n"
		return Source{Name: "shop.yaml", Data: []byte(text)}
	}
	const added = "{name: new, matches: [{headers: [{name: x, value: one}]}], backendRefs: [{name: s, port: 80}]}, "
	f, err := NewFollower(Options{Holders: &Holders{}, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []Source{route(), route(added), route(), route(added)} {
		update, err := f.Replace([]Source{step}, Changes{})
		if err != nil {
			t.Fatal(err)
		}
		result, err := update.Result()
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, p := range carriedPolicies(t, result) {
			names[p.Scope[strings.LastIndex(p.Scope, "/")+1:]] = p.SessionName
		}
		if names["old"] != "app" || names["new"] == "app" || (i%2 == 1) != (names["new"] != "") {
			t.Errorf("step %d: %s", i, names)
		}
	}
}

// TestHoldersTravel: another process reads what one has written, and writes the same.
func TestHoldersTravel(t *testing.T) {
	web, edge := object.Ref{Kind: "Gateway", Namespace: "a", Name: "web"}, object.Ref{Kind: "Gateway", Namespace: "b", Name: "edge"}
	at, route := netip.MustParseAddrPort("10.0.0.1:443"), object.Ref{Kind: "TLSRoute", Namespace: "a", Name: "r"}
	has := &Holders{
		claims: gateway.Claims{{At: at, Gateway: web}: true, {At: at, Gateway: edge}: true},
		names: policy.HeldNames{
			"HTTPRoute/a/r/rule/x": {Written: "cart", Emitted: "cart-8d7261439b72"}, "HTTPRoute/a/r": {Shares: true},
		},
		hosts: gateway.SoleHosts{
			{Gateway: "a/web", Listener: "tls", Name: "x.example"}: route, {Gateway: "a/web", Listener: "tls", Name: "*.example"}: route,
		},
	}
	text, err := json.Marshal(has)
	if err != nil {
		t.Fatal(err)
	}
	read := &Holders{}
	if err := json.Unmarshal(text, read); err != nil || !reflect.DeepEqual(read, has) {
		t.Errorf("%v: %s is read as %+v", err, text, read)
	}
	if again, err := json.Marshal(read); err != nil || string(again) != string(text) {
		t.Errorf("%v: %s is written as %s", err, text, again)
	}
}
