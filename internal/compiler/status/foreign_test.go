package status_test

import (
	"fmt"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/contourapi"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// TestWhatStandsInAStatus keeps what others wrote, their entries before limpet's, and replaces what limpet did.
//
// requirements: S64
func TestWhatStandsInAStatus(t *testing.T) {
	const route = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: two, namespace: shop, generation: 3}
spec: {parentRefs: [{name: web, sectionName: http}, {name: another}], rules: [{}]}
status:
  parents:
  - {parentRef: {name: web, sectionName: http}, controllerName: limpet.dev/gateway-controller, conditions: [{type: Accepted, status: "True", reason: Accepted, message: old, observedGeneration: 2, lastTransitionTime: "2026-01-01T00:00:00Z"}, {type: Theirs, status: "True", reason: X, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
  - {parentRef: {name: another}, controllerName: example.com/other, conditions: [{type: Accepted, status: "False", reason: Pending, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
  - {parentRef: {name: gone}, controllerName: limpet.dev/gateway-controller, conditions: []}`
	const another = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: another, namespace: shop}\nspec: {gatewayClassName: theirs, listeners: [{name: a, protocol: HTTP, port: 80}]}"
	s := statusOf[gatewayv1.HTTPRouteStatus](t, buildStatuses(t, nil, route, another), "HTTPRoute shop/two")
	var got []string
	for _, p := range s.Parents {
		got = append(got, fmt.Sprintf("%s %s: ", p.ControllerName, p.ParentRef.Name))
		for _, c := range p.Conditions {
			got = append(got, fmt.Sprintf("%s=%s/%s/%d/%s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.LastTransitionTime.UTC().Format("2006-01-02")))
		}
	}
	want := "example.com/other another: \nAccepted=False/Pending/0/2026-01-01\n" +
		string(status.ControllerName) + " web: \nAccepted=True/Accepted/3/2026-01-01\nTheirs=True/X/0/2026-01-01\nResolvedRefs=True/ResolvedRefs/3/2026-11-21"
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestStatusOfForeignKinds holds that of an HTTPProxy, in Contour's words, and of an XBackend by Gateway.
func TestStatusOfForeignKinds(t *testing.T) {
	const proxy = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nmetadata: {name: p, namespace: shop}\nspec: {virtualhost: {fqdn: a.org}, routes: [{services: [{name: a, port: 80}]}]}"
	problem := func(reason, path string) report.Problem {
		return newProblem(object.Ref{Kind: contourapi.KindHTTPProxy, Namespace: "shop", Name: "p"}, reason, path)
	}
	for name, c := range map[string]struct {
		problem report.Problem
		want    string
	}{
		"nothing":                  {report.Problem{}, "valid Valid: Valid HTTPProxy"},
		"a host that another has":  {problem("Conflicted", "spec.virtualhost.fqdn"), "invalid ErrorPresent: At least one error present, see Errors for details; error VirtualHostError/Conflicted/spec.virtualhost.fqdn: no"},
		"a service that is gone":   {problem("BackendNotFound", "spec.routes[0].services[0]"), "invalid ErrorPresent: At least one error present, see Errors for details; error ServiceError/ServiceUnresolvedReference/spec.routes[0].services[0]: no"},
		"an entry that is ignored": {problem("PartiallyProgrammed", "spec.routes[0].loadBalancerPolicy.strategy"), "valid Valid: Valid HTTPProxy; warning SpecError/IgnoredField/spec.routes[0].loadBalancerPolicy.strategy: no"},
		"something else":           {problem("", "spec.routes[0]"), "valid Valid: Valid HTTPProxy; warning RouteError/NotHonoured/spec.routes[0]: no"},
	} {
		t.Run(name, func(t *testing.T) {
			decide := func(d *decided) { d.problems = []report.Problem{c.problem} }
			if c.problem.Message == "" {
				decide = nil
			}
			s := statusOf[contourapi.Status](t, buildStatuses(t, decide, proxy), "HTTPProxy shop/p")
			got := s.CurrentStatus + " " + s.Description
			for _, f := range s.Conditions[0].Errors {
				got += fmt.Sprintf("; error %s/%s/%s", f.Type, f.Reason, f.Message)
			}
			for _, f := range s.Conditions[0].Warnings {
				got += fmt.Sprintf("; warning %s/%s/%s", f.Type, f.Reason, f.Message)
			}
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestStatusOfXBackends has an entry for each Gateway that leads there.
func TestStatusOfXBackends(t *testing.T) {
	const xbackend = "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: x, namespace: shop}\nspec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {a: b}}}"
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: two, namespace: shop}\nspec: {parentRefs: [{name: web, sectionName: http}], rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]}]}"
	for name, c := range map[string]struct {
		documents []string
		problem   string
		want      string
	}{
		"a Gateway leads there":     {[]string{xbackend, route}, "", "web Accepted=True/Accepted: "},
		"no Gateway leads there":    {[]string{xbackend}, "", ""},
		"its session is refused":    {[]string{xbackend, route}, string(gatewayv1.PolicyReasonInvalid), "web Accepted=False/Invalid: spec: no"},
		"something is not honoured": {[]string{xbackend, route}, "Other", "web Accepted=True/Accepted: spec: no"},
	} {
		t.Run(name, func(t *testing.T) {
			decide := func(d *decided) {
				if c.problem != "" {
					d.problems = []report.Problem{newProblem(object.Ref{Kind: object.KindXBackend, Namespace: "shop", Name: "x"}, c.problem, "spec")}
				}
			}
			var got string
			for _, a := range statusOf[status.BackendStatus](t, buildStatuses(t, decide, c.documents...), "XBackend shop/x").Ancestors {
				got += string(a.AncestorRef.Name) + " " + formatConditions(a.Conditions)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
