package lower

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	"github.com/limpet-proxy/limpet/token"
)

type problem = report.Problem

// istioDocuments are a Gateway of Gateway API and one of Istio's own, each with a route to the Services a and b.
const istioDocuments = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: istio}
spec:
  controllerName: istio.io/gateway-controller
  parametersRef: {group: example.com, kind: Parameters, name: p, namespace: infra}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: istio, listeners: [{name: z, protocol: HTTP, port: 80}, {name: a, protocol: HTTP, port: 81}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web}]
  hostnames: [a.example, b.example]
  rules:
  - backendRefs: [{name: a, port: 80}, {name: b, port: 80, weight: 0}, {name: a, port: 80}]
    retry: {attempts: 1}
  - {name: second, matches: [{path: {value: /x}}, {path: {value: /y}}], backendRefs: [{group: other, kind: Other, name: o}], retry: {}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge}
spec: {selector: {app: edge}, servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*"]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: v}
spec:
  hosts: [v.example]
  gateways: [edge]
  http:
  - {name: one, match: [{name: m, uri: {prefix: /m}}, {uri: {prefix: /n}}], route: [{destination: {host: a, port: {number: 80}, subset: blue}}], retries: {attempts: 0}}
  - {delegate: {name: other}}
---
apiVersion: v1
kind: Service
metadata: {name: a, labels: {app: a}}
spec: {ports: [{port: 80}]}
---
`

func TestPlanHasRulesByListenerAndAge(t *testing.T) {
	plan := planDocuments(t, sessionapi.Unstated, istioDocuments)
	var got []string
	for _, r := range plan.Rules {
		got = append(got, fmt.Sprint(r.Listener.Key(), " ", r.Route.Ref, " ", r.Index, " ", r.Hostnames))
	}
	want := []string{
		"default/edge/istio VirtualService default/v 0 [v.example]", "default/edge/istio VirtualService default/v 1 [v.example]",
		"default/web/a HTTPRoute default/r 0 [a.example b.example]", "default/web/a HTTPRoute default/r 1 [a.example b.example]",
		"default/web/z HTTPRoute default/r 0 [a.example b.example]", "default/web/z HTTPRoute default/r 1 [a.example b.example]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Equal pointers mean the same rule, sessions, backend, listener and Gateway.
func TestPlanHasEachValueOnce(t *testing.T) {
	plan := planDocuments(t, sessionapi.Release17, istioDocuments, sessionDocument("HTTPRoute", "r", ""))
	a, z := plan.Rules[2], plan.Rules[4]
	if a.Rule != z.Rule || a.Sessions != z.Sessions || a.Route != plan.Routes[0] || a.Rule != plan.Routes[0].Rules[0] {
		t.Errorf("a rule is not the same on two listeners: %+v, %+v", a, z)
	}
	if a.Listener.Gateway != z.Listener.Gateway || a.Listener != a.Listener.Gateway.Listeners[1] || z.Listener != z.Listener.Gateway.Listeners[0] {
		t.Errorf("listeners are not those of their Gateway: %+v, %+v", a.Listener, z.Listener)
	}
	refs := a.Backends
	if refs[0].Backend == nil || refs[0].Backend != refs[2].Backend || refs[0].Backend == refs[1].Backend || len(a.DistinctBackends()) != 2 {
		t.Errorf("got %+v, want two backends in three references", refs)
	}
	if !a.Sessions.PerBackend || a.Sessions.WantsShared || len(a.Sessions.All) != 2 || a.Sessions.All[0].Backend != refs[0].Backend {
		t.Errorf("got %+v, want a session for each backend of the rule", a.Sessions)
	}
	if plan.Gateways[0] != plan.Rules[0].Listener.Gateway || plan.Gateways[1] != a.Listener.Gateway {
		t.Errorf("got %+v, want the rules' Gateways in order", plan.Gateways)
	}
}

func TestPlanHasWhatIsWrittenOfRules(t *testing.T) {
	plan := planDocuments(t, sessionapi.Unstated, istioDocuments)
	first, second, virtual := plan.Routes[0].Rules[0], plan.Routes[0].Rules[1], plan.Routes[1].Rules
	if len(first.MatchNames) != 1 || !first.Retries || first.Name != "" || first.Backends[1].Weight != 0 { // the CRD has a match by default
		t.Errorf("got %+v", first)
	}
	if second.Name != "second" || len(second.MatchNames) != 2 || !second.Retries || second.Backends[0].Kind != "Other" || second.Backends[0].Backend != nil {
		t.Errorf("got %+v", second)
	}
	if virtual[0].Name != "one" || !slices.Equal(virtual[0].MatchNames, []string{"m", ""}) || virtual[0].Delegates || virtual[0].Retries || !virtual[1].Delegates {
		t.Errorf("got %+v, %+v", virtual[0], virtual[1])
	}
	if len(virtual[1].MatchNames) != 0 || virtual[1].CountMatches() != 1 {
		t.Errorf("got %+v, want no match that is written and one in effect", virtual[1])
	}
	want := ir.Backend{
		Ref: object.Ref{Kind: object.KindService, Namespace: "default", Name: "a"}, Port: 80, Subset: "blue",
		Tag: token.BackendTag("default/a:80/blue"),
	}
	if got := virtual[0].Backends[0].Backend; got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPlanHasWhatIsWrittenOfGateways(t *testing.T) {
	plan := planDocuments(t, sessionapi.Unstated, istioDocuments)
	edge, web := plan.Gateways[0], plan.Gateways[1]
	if edge.Kind != object.KindIstioGateway || edge.Subject.String() != "Gateway default/edge" || edge.Selector["app"] != "edge" || edge.Parameters != nil {
		t.Errorf("got %+v, want Istio's own Gateway with its selector", edge)
	}
	want := ir.ParametersRef{Ref: object.Ref{Kind: "Parameters", Namespace: "infra", Name: "p"}, OfClass: true}
	if web.Class != "istio" || web.Parameters == nil || *web.Parameters != want || web.Selector != nil {
		t.Errorf("got %+v, want its class's parameters %+v", web, want)
	}
	services := plan.Objects[object.KindService]
	if len(services) != 1 || services[0].Labels["app"] != "a" || len(services[0].JSON) == 0 {
		t.Errorf("got %+v, want the Service as it was read", services)
	}
}

// A policy has the matches that it is for, and neither routes nor clusters: each target has its own.
func TestPlanKeepsPoliciesWithTheirMatches(t *testing.T) {
	plan := planDocuments(t, sessionapi.Unstated, istioDocuments, serviceDocuments("o", "10.0.0.1"), `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: paths}
spec:
  parentRefs: [{name: web, sectionName: a}]
  rules: [{matches: [{path: {value: /x}}, {path: {value: /y}}, {path: {value: /x}, method: GET}], backendRefs: [{name: o, port: 80}]}]
---
`, sessionDocument("HTTPRoute", "paths", ""))
	i := slices.IndexFunc(plan.Rules, func(r *ir.AttachedRule) bool { return r.Route.Name == "paths" })
	sessions := plan.Rules[i].Sessions
	if !sessions.On() || len(sessions.All) != 1 || sessions.All[0].Name != "default/paths/rule/0" || sessions.All[0].FailStatus() != 0 {
		t.Fatalf("got %+v, want one session", sessions)
	}
	var got []string
	for _, p := range sessions.All[0].Policies {
		got = append(got, fmt.Sprint(p.Name, " ", p.Cookie.Path, " ", p.Matches, p.Routes, p.Clusters))
	}
	if want := []string{"default/paths/rule/0/match/0 /x [0 2] [] []", "default/paths/rule/0/match/1 /y [1] [] []"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPlanRevokesBackends: where each backend has a session of its own, one that is revoked loses those of before, and the other none. A
// backend that the route does not have is told of.
func TestPlanRevokesBackends(t *testing.T) {
	documents := []string{istioDocuments, sessionDocument("HTTPRoute", "r",
		`, revocation: {backends: ["default/b:80 before 2026-11-22T08:00:00Z", "default/c:80 before 2026-11-22T08:00:00Z"]}`)}
	plan, rep := planAndReport(t, sessionapi.Release17, documents...)
	var got []string
	for _, s := range plan.Rules[2].Sessions.All {
		got = append(got, fmt.Sprint(s.Backend.Name, " ", s.Policies[0].Revocation.NotBefore, s.Policies[0].Revocation.Backends))
	}
	if want := []string{"a 0 []", "b 2026-11-22T08:00:00Z []"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	names := func(p problem) bool { return strings.Contains(p.Message, `names "default/c:80", which is no backend`) }
	if !slices.ContainsFunc(rep.Warnings(), names) {
		t.Errorf("got the warnings %+v", rep.Warnings())
	}
}

// TestPlanRevokesABackendOnce: of several times for one backend, however they are written, the latest goes to the filter, which takes no
// backend twice.
func TestPlanRevokesABackendOnce(t *testing.T) {
	for times, want := range map[[2]string]string{
		{"2026-11-22T08:00:00Z", "2026-11-22T09:00:00+01:00"}: "2026-11-22T08:00:00Z",
		{"2026-11-22T08:00:00Z", "2026-11-23T08:00:00Z"}:      "2026-11-23T08:00:00Z",
	} {
		plan := planDocuments(t, sessionapi.Unstated, istioDocuments, serviceDocuments("b", "10.0.0.2"), sessionDocument("HTTPRoute", "r",
			fmt.Sprintf(`, revocation: {backends: ["default/b:80 before %s", "default/b:80 before %s"]}`, times[0], times[1])))
		sessions := plan.Rules[2].Sessions
		if sessions.PerBackend || len(sessions.All) != 1 {
			t.Fatalf("got %+v, want one session for both backends", sessions)
		}
		tag := fmt.Sprintf("%08x before ", plan.Rules[2].Backends[1].Backend.Tag)
		if got := sessions.All[0].Policies[0].Revocation.Backends; !slices.Equal(got, []string{tag + want}) {
			t.Errorf("got %q, want the time %s alone", got, want)
		}
	}
}
