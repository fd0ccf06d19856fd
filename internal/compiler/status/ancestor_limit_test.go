package status_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/compiler"
)

// seventeenGateways are documents with one route on seventeen Gateways, g00 to g16, the last of which is the youngest.
func seventeenGateways(policy string) string {
	documents := strings.Split(statusBase, "---\n")
	text := strings.Join(append(documents[:1:1], documents[2:5]...), "---\n") + policy
	var refs []string
	for i := range 17 {
		name := fmt.Sprintf("g%02d", i)
		refs = append(refs, "{name: "+name+"}")
		text += "---\n" + strings.NewReplacer("name: web", "name: "+name, "port: 80}", fmt.Sprintf("port: %d}", 8000+i), ", {name: more, protocol: HTTP, port: 81}", "").Replace(documents[1])
	}
	return text + "---\n" + strings.ReplaceAll(documents[5], "{name: web, sectionName: http}", strings.Join(refs, ","))
}

// TestSixteenAncestorsFit has one policy of each kind for seventeen Gateways: the youngest is without it, and says so.
//
// requirements: 2C.16, S63
func TestSixteenAncestorsFit(t *testing.T) {
	for kind, c := range map[string]struct {
		policy string
		marks  string // what a listener has in envoy.yaml where the policy holds
		with   string // the route's condition there
	}{
		"SessionPersistencePolicy shop/p": {sessionPolicyText("shop/p", onRoute, "absoluteTimeout: 1h"), "", " SessionPersistencePolicyAffected=True/Accepted"},
		"LoadBalancerPolicy shop/p":       {loadBalancerText("shop/p", onRoute, "strategy: Random"), "cluster: service/shop/cart/80/random\n", " LoadBalancerPolicyAffected=True/Accepted"},
		"XBackendTrafficPolicy shop/p":    {budgetOfCart, "cluster: service/shop/cart/80\n", " XBackendTrafficPolicyAffected=True/Accepted"},
	} {
		t.Run(kind, func(t *testing.T) {
			text := seventeenGateways(c.policy)
			lines := statusLines(t, text)
			if got := strings.Count(lines, kind+" @ Gateway"); got != 16 {
				t.Errorf("%d ancestors, want 16", got)
			}
			name, _, _ := strings.Cut(kind, " ")
			for _, want := range []string{
				"Gateway shop/g16: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs " + name + "Affected=False/Invalid\n",
				"HTTPRoute shop/cart @ g15: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs" + c.with + "\n",
				"HTTPRoute shop/cart @ g16: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs\n",
			} {
				if !strings.Contains(lines, want) {
					t.Errorf("no line %q in\n%s", want, lines)
				}
			}
			if c.marks != "" {
				checkLastWithout(t, text, c.marks)
			}
		})
	}
}

// strangersText is another namespace's route to the Service cart, from Gateways of its own, which are not the first of the input
// though their names are; with a ReferenceGrant or without.
func strangersText(gateways int, grant string) string {
	text := "---\n{apiVersion: v1, kind: Service, metadata: {name: s, namespace: 0stranger}, spec: {ports: [{port: 80}]}}\n" + grant
	var refs []string
	for i := range gateways {
		refs = append(refs, fmt.Sprintf("{name: g%02d}", i))
		text += fmt.Sprintf("---\n{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g%02d, namespace: 0stranger}, "+
			"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: %d}]}}\n", i, 8000+i)
	}
	return text + "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: steal, namespace: 0stranger}, " +
		"spec: {parentRefs: [" + strings.Join(refs, ",") + "], rules: [{backendRefs: [{name: cart, namespace: shop, port: 80}]}]}}\n"
}

// TestStrangersTakeNoAncestors: a reference that nothing allows makes no ancestor of a policy for what it leads to, and tells its
// route nothing of that; of references that are allowed those from Gateways that were there first have room.
//
// requirements: S59, S62, S63, S75
func TestStrangersTakeNoAncestors(t *testing.T) {
	policy := loadBalancerText("shop/p", onService, "strategy: Random")
	alone := statusLines(t, statusBase+policy+strangersText(3, ""))
	if strings.Contains(alone, "shop/p @ Gateway g") || strings.Contains(alone, "steal @ g00: Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted LoadBalancer") {
		t.Errorf("a stranger's reference counts:\n%s", alone)
	}
	grant := "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: g, namespace: shop}, spec: " +
		"{from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: 0stranger}], to: [{group: '', kind: Service}]}}\n"
	granted := statusLines(t, statusBase+policy+strangersText(20, grant))
	if !strings.Contains(granted, "shop/p @ Gateway web: Accepted=True/Accepted") || strings.Contains(granted, "shop/p @ Gateway g15:") ||
		!strings.Contains(granted, "shop/p @ Gateway g14:") {
		t.Errorf("the owner's Gateway has no room, or not fifteen of the others:\n%s", granted)
	}
}

// TestClassFits: a policy for a GatewayClass needs one entry for all of its Gateways, and has an effect on each.
func TestClassFits(t *testing.T) {
	lines := statusLines(t, seventeenGateways(sessionPolicyText("limpet-system/p", onClass, "absoluteTimeout: 1h")))
	if n := strings.Count(lines, "SessionPersistencePolicy limpet-system/p @ "); n != 1 {
		t.Errorf("%d ancestors, want 1", n)
	}
	if n := strings.Count(lines, "SessionPersistencePolicyAffected=True/Accepted"); n < 34 {
		t.Errorf("%d Gateways and parents of the route are affected, want 17 of each\n%s", n, lines)
	}
}

// checkLastWithout compiles and wants a mark in the routes of sixteen listeners and not in that of the last.
func checkLastWithout(t *testing.T, text, mark string) {
	t.Helper()
	result, err := compiler.Compile([]compiler.Source{{Name: "a.yaml", Data: []byte(text)}}, compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	listeners := strings.Split(string(result.Main()), "- address:\n      socket_address:\n        address: 0.0.0.0\n")
	if len(listeners) != 18 {
		t.Fatalf("%d listeners", len(listeners)-1)
	}
	for i, l := range listeners[1:] {
		if got := strings.Contains(l, mark); got != (i < 16) {
			t.Errorf("listener %d has %q: %t", i, mark, got)
		}
	}
}

// TestDescriptionOverLimit wants sessions on all Gateways but the one without room.
//
// requirements: S63
func TestDescriptionOverLimit(t *testing.T) {
	text := seventeenGateways(sessionPolicyText("shop/p", onRoute, "absoluteTimeout: 1h"))
	for gateway, sessions := range map[string]int{"g15": 1, "g16": 0} {
		d, err := compiler.Describe([]compiler.Source{{Name: "a.yaml", Data: []byte(text)}}, compiler.Options{}, "gateway/"+gateway, "")
		if err != nil || len(d.Sessions) != sessions {
			t.Errorf("%s: %v, %v; want %d sessions", gateway, d, err, sessions)
		}
	}
}

// TestLimitsFromAboveHold: what an override sets holds on the seventeenth Gateway, too, or there is no session. One for a
// class has the class for its ancestor. Before, the override failed open there (M2 of the security review).
//
// requirements: S59, S63
func TestLimitsFromAboveHold(t *testing.T) {
	const override = "override: {absoluteTimeout: 10m}, absoluteTimeout: 100h"
	for name, c := range map[string]struct {
		policies string
		entries  []string
		want     map[string]string // the timeout of each Gateway's session
	}{
		"of a class": {
			sessionPolicyText("limpet-system/p", onClass, override),
			[]string{"SessionPersistencePolicy limpet-system/p @ GatewayClass limpet: "},
			map[string]string{"g00": "10m", "g15": "10m", "g16": "10m"},
		},
		"of a route": {
			sessionPolicyText("shop/p", onRoute, override) + sessionPolicyText("limpet-system/q", onClass, "absoluteTimeout: 50h"),
			[]string{
				"Gateway shop/g16: Accepted=True/Accepted Programmed=True/Programmed ResolvedRefs=True/ResolvedRefs SessionPersistencePolicyAffected=False/Invalid",
				"HTTPRoute shop/cart @ g16: Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs PartiallyInvalid=True/UnsupportedValue",
			},
			map[string]string{"g00": "10m", "g15": "10m", "g16": ""},
		},
		"without an override": {
			sessionPolicyText("shop/p", onRoute, "absoluteTimeout: 100h") + sessionPolicyText("limpet-system/q", onClass, "absoluteTimeout: 50h"),
			nil,
			map[string]string{"g00": "100h", "g15": "100h", "g16": "50h"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := seventeenGateways(c.policies)
			lines := statusLines(t, text)
			for _, want := range c.entries {
				if !strings.Contains(lines, want) {
					t.Errorf("no line %q in\n%s", want, lines)
				}
			}
			result, err := compiler.Compile([]compiler.Source{{Name: "a.yaml", Data: []byte(text)}}, compiler.Options{Envoy: &compiler.EnvoyOptions{ModulePath: "w"}})
			if err != nil {
				t.Fatal(err)
			}
			for gateway, want := range c.want {
				got := ""
				for _, p := range result.Plugin.Policies {
					if strings.Contains(p.Name, "/"+gateway+"/") || !strings.Contains(p.Name, "/listener/") {
						got = p.AbsoluteTimeout.String()
					}
				}
				if got != want {
					t.Errorf("%s: the session lasts %q, want %q", gateway, got, want)
				}
			}
		})
	}
}
