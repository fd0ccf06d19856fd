package envoygateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const oneBackend = `{matches: [{}], backendRefs: [{name: a, port: 8080}], sessionPersistence: {sessionName: cart}}`

// newPlan is a plan of one rule with a session.
func newPlan(t *testing.T, kind, rule string) (*ir.Plan, *ir.AttachedRule) {
	t.Helper()
	a := attach(newRule(t, kind, "r", rule), newGateway(t, "http:80").Listeners[0], "*", newSession(newPolicy("shop/r/rule/0", 0)))
	return planOf(a), a
}

func TestManifestOfARule(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute, oneBackend)
	out := emit(t, plan)
	want := []string{
		"EnvoyProxy limpet-web", "Gateway web", "ClientTrafficPolicy limpet-web", "EnvoyPatchPolicy limpet-web",
		"EnvoyExtensionPolicy limpet", "HTTPRoute r",
	}
	if got := out.names(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	out.checkParts(t, "EnvoyProxy", []string{`"after":"envoy.filters.http.wasm"`, `"name":"LIMPET_KEYS"`, `"key":"LIMPET_KEYS"`})
	out.checkParts(t, "Gateway", []string{`"parametersRef":{"group":"gateway.envoyproxy.io","kind":"EnvoyProxy","name":"limpet-web"}`})
	out.checkParts(t, "ClientTrafficPolicy", []string{`"earlyRequestHeaders":{"remove":["x-limpet-pin","x-limpet-pin-backend"]}`, `"lateResponseHeaders":{"remove":["x-limpet-pin"]}`})
	out.checkParts(t, "EnvoyExtensionPolicy", []string{`"failOpen":false`, `"hostKeys":["LIMPET_KEYS"]`, `"url":"example.com/limpet:1"`, `"name":"shop/r/rule/0"`})
	out.checkParts(t, "HTTPRoute", []string{`"sessionName":"x-limpet-pin"`, `"type":"Header"`, `"codes":[599]`}, "cart")
	out.checkParts(t, "EnvoyPatchPolicy", []string{`"DRAINING"`, `"value":"FAIL_RELOAD"`}, "strict")
	out.checkProblems(t)
}

// A route whose sessions are off loses Envoy Gateway's own, and nothing else is written for it.
func TestRoutesWithoutSessionsLoseTheirOwn(t *testing.T) {
	plan, a := newPlan(t, object.KindHTTPRoute, oneBackend)
	a.Sessions.All = nil
	a.Route.InlineSessions = []ir.InlineSession{{Path: "spec.rules[0].sessionPersistence", SessionName: "cart"}}
	out := emit(t, plan)
	if got := out.names(); !slices.Equal(got, []string{"HTTPRoute r"}) {
		t.Errorf("got %q, want the route alone", got)
	}
	out.checkParts(t, "HTTPRoute", []string{"backendRefs"}, "sessionPersistence")
}

func TestSessionsThatFailWithTheirHost(t *testing.T) {
	plan, a := newPlan(t, object.KindHTTPRoute, `{matches: [{}], backendRefs: [{name: a, port: 8080}], retry: {attempts: 2}}`)
	policy := &a.Sessions.All[0].Policies[0]
	policy.OnHostLost, policy.FailStatus = policyconfig.Fail, 404
	out := emit(t, plan)
	out.checkParts(t, "HTTPRoute", []string{"x-limpet-pin"}, "retry")
	out.checkParts(t, "EnvoyPatchPolicy", []string{`"strict":true`, `"status_on_strict_destination_not_found":404`, "@.name=='httproute/shop/r/rule/0/match/0/*'"})
	out.checkProblems(t, "spec.rules[0].retry: not supported by envoy-gateway: a retry would move the sessions")
}

// fullMatch is one with as many headers as there can be, so that no copy of its rule can have one more.
var fullMatch = `{headers: [` + strings.Repeat("{name: x-a, value: a}, ", 15) + `{name: x-a, value: a}]}`

// Where a route has no room for copies, a split keeps one cluster. Envoy Gateway leaves hosts of weight 0 out, so that a backend gets the
// least weight, which a patch takes away again.
func TestSplitsWithoutCopies(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute,
		`{matches: [`+fullMatch+`], backendRefs: [{name: a, port: 8080, weight: 3}, {name: b, port: 8080, weight: 0}]}`)
	out := emit(t, plan)
	out.checkParts(t, "HTTPRoute", []string{`"weight":999999`, `"weight":1}`}, "x-limpet-pin-backend")
	out.checkParts(t, "EnvoyPatchPolicy", []string{`"overprovisioning_factor":10000`, "@.locality.region=='httproute/shop/r/rule/0/backend/1'"})
	out.checkProblems(t, "spec.rules[0].backendRefs: not supported by envoy-gateway: the route has no room for a copy")
}

// Envoy Gateway has no session persistence for a GRPCRoute: patches bring the filter, its routes' pins and retries.
func TestGRPCRoutesHavePatches(t *testing.T) {
	plan, _ := newPlan(t, object.KindGRPCRoute, `{backendRefs: [{name: a, port: 8080}]}`)
	out := emit(t, plan)
	out.checkParts(t, "GRPCRoute", []string{`"remove":["x-limpet-pin"]`}, "sessionPersistence", "retry")
	out.checkParts(t, "EnvoyPatchPolicy", []string{`$.default_filter_chain.filters[*]`, "previous_hosts", "@.name=='grpcroute/shop/r/rule/0/match/-1/*'"})
}

func TestEnvoyProxiesOfUsers(t *testing.T) {
	for want, c := range map[string]struct {
		proxy   string
		ofClass bool
	}{
		"":                                   {proxy: `{filterOrder: [{name: envoy.filters.http.stateful_session, after: envoy.filters.http.wasm}], provider: {type: Host}}`},
		"spec.filterOrder[0]: not supported": {proxy: `{filterOrder: [{name: envoy.filters.http.wasm, after: envoy.filters.http.stateful_session}]}`},
		"spec.routingType: not supported":    {proxy: `{routingType: Service}`},
		"spec.mergeGateways: not supported":  {proxy: `{mergeGateways: true}`},
		"spec.gatewayClassName: not supported by envoy-gateway: its GatewayClass has Env": {ofClass: true},
		"spec.infrastructure.parametersRef: not supported by envoy-gateway: Gateway shop": {},
	} {
		plan, a := newPlan(t, object.KindHTTPRoute, oneBackend)
		a.Listener.Gateway.Parameters = &ir.ParametersRef{Ref: object.Ref{Kind: kindProxy, Namespace: "shop", Name: "mine"}, OfClass: c.ofClass}
		if c.proxy != "" {
			proxy := newObject(t, kindProxy, "mine", c.proxy)
			plan.Objects[kindProxy] = []*ir.Object{&proxy}
		}
		out := emit(t, plan)
		if out.checkProblems(t, slices.DeleteFunc([]string{want}, func(s string) bool { return s == "" })...); slices.Contains(out.names(), "Gateway web") {
			t.Errorf("%s: the Gateway has a reference already", want)
		}
		if c.proxy != "" {
			out.checkParts(t, kindProxy, []string{`"after":"envoy.filters.http.wasm","name":"envoy.filters.http.stateful_session"`})
		}
	}
}

// Policies of users for the same Gateway get the fence, too: Envoy Gateway takes one, the nearest to a listener.
func TestClientTrafficPoliciesOfUsers(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute, oneBackend)
	listener := newObject(t, kindClient, "listener", `{targetRefs: [{kind: Gateway, name: web, sectionName: http}]}`)
	other := newObject(t, kindClient, "other", `{targetRef: {kind: Gateway, name: elsewhere}}`)
	plan.Objects[kindClient] = []*ir.Object{&listener, &other}
	if got := emit(t, plan).names(); !slices.Equal(got[2:4], []string{"ClientTrafficPolicy listener", "ClientTrafficPolicy limpet-web"}) {
		t.Errorf("got %q, want the listener's policy and one for all of the Gateway", got)
	}
	whole := newObject(t, kindClient, "whole", `{targetSelectors: [{kind: Gateway}]}`)
	plan.Objects[kindClient] = []*ir.Object{&whole}
	if got := emit(t, plan).names(); !slices.Equal(got[2:4], []string{"ClientTrafficPolicy whole", "EnvoyPatchPolicy limpet-web"}) {
		t.Errorf("got %q, want the policy for the Gateway and none of limpet's", got)
	}
}

func TestKeysReachTheProxies(t *testing.T) {
	plan, _ := newPlan(t, object.KindHTTPRoute, oneBackend)
	ring := &policyconfig.KeyRing{Keys: []policyconfig.Key{{ID: "k", Secret: []byte(strings.Repeat("s", 32))}}}
	emitWith(t, plan, policyconfig.Keys{Ring: ring}).checkParts(t, kindProxy, nil, "LIMPET")
	emitWith(t, plan, policyconfig.Keys{FromEnv: "OTHER"}).checkParts(t, kindProxy, []string{`"name":"OTHER"`})
}

func TestUnsupportedObjectsAreReported(t *testing.T) {
	plan, a := newPlan(t, object.KindHTTPRoute, `{matches: [{}], backendRefs: [{kind: XBackend, name: x}, {name: a, port: 8080}]}`)
	a.Sessions.All = nil
	for kind, spec := range map[string]string{
		object.KindLoadBalancer: "{strategy: Random}", object.KindTrafficPolicy: "{retryConstraint: {}}",
	} {
		o := newObject(t, kind, "o", spec)
		plan.Objects[kind] = append(plan.Objects[kind], &o)
	}
	proxy := newObject(t, "HTTPProxy", "o", "{}")
	plan.HostRoutes = []*ir.Object{&proxy}
	emit(t, plan).checkProblems(t,
		"kind: not supported by envoy-gateway: Envoy Gateway does not know HTTPProxy",
		"spec.rules[0].backendRefs[0].kind: not supported by envoy-gateway: Envoy Gateway does not know XBackend",
		`spec: not supported by envoy-gateway: write a BackendTrafficPolicy for {"strategy":"Random"}`,
		`spec.retryConstraint: not supported by envoy-gateway: write a BackendTrafficPolicy for {"retryConstraint":{}}`)
}

func TestRoutesThatLimpetWroteAreRefused(t *testing.T) {
	plan, a := newPlan(t, object.KindHTTPRoute, oneBackend)
	a.Route.InlineSessions = []ir.InlineSession{{Path: "spec.rules[0].sessionPersistence", SessionName: pinHeader}}
	emit(t, plan).checkProblems(t, `spec.rules[0].sessionPersistence: Invalid value: "x-limpet-pin": is the internal header`)
}

func TestOptions(t *testing.T) {
	for url, good := range map[string]bool{
		"": false, "file:///x": false, "oci://": false, "oci://example.com/limpet:1": true, "http://x/y": true, "https://x/y": true,
	} {
		o := Options{WasmURL: url}
		if err := o.Check(); (err == nil) != good {
			t.Errorf("%q: got %v", url, err)
		}
	}
}
