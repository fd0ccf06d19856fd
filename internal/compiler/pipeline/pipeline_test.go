package pipeline

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/seniority"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// bad is a Gateway with a listener that has no certificate.
const bad = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: bad, namespace: shop}
spec:
  gatewayClassName: limpet
  listeners: [{name: bad, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: none}]}}]
`

func newRoute(name string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ` + name + `, namespace: shop}
spec:
  parentRefs: [{name: web, sectionName: http}]
  hostnames: [` + name + `.example]
  rules: [{sessionPersistence: {sessionName: ` + name + `}, backendRefs: [{name: cart, port: 80}, {name: ` + name + `-gone, port: 80}]}]
`
}

func newInput(objects *resource.Objects) Input {
	in := Input{Objects: objects, Settings: Settings{Bind: netip.MustParseAddr("0.0.0.0")}}
	in.Listening.Order = seniority.New(func() []string { return []string{""} }, objects.VisitClaimants)
	return in
}

// TestRunPart holds that parts which are given what the whole has in common come to the whole together: its clusters, its policies
// and all that there is to say but of a Gateway's certificates, which the whole says.
func TestRunPart(t *testing.T) {
	whole := compilertest.Admit(t, compilertest.Shop, bad, newRoute("a"), newRoute("b"))
	rep := &report.Report{}
	of := Run(newInput(whole), rep)
	ofGateway := "Gateway shop/bad: spec.listeners[0].tls.certificateRefs[0].name: "
	missing := func(line string) bool { return strings.HasPrefix(line, ofGateway) }
	problems := listLines(rep)
	if !slices.ContainsFunc(problems, missing) {
		t.Errorf("the whole does not say that a listener has no certificate: %q", problems)
	}
	var clusters []ir.Cluster
	var policies []policyconfig.Policy
	parts := &report.Report{}
	for i := range whole.Routes {
		objects := *whole
		objects.Routes = whole.Routes[i : i+1 : i+1]
		in := newInput(&objects)
		in.Shared = of.Shared
		p := Run(in, parts).Plan.Proxy
		clusters, policies = append(clusters, p.Clusters...), append(policies, p.Policies...)
	}
	if want := slices.DeleteFunc(problems, missing); !slices.Equal(listLines(parts), want) {
		t.Errorf("parts say %q, the whole %q", listLines(parts), want)
	}
	slices.SortFunc(clusters, func(a, b ir.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	clusters = slices.CompactFunc(clusters, func(a, b ir.Cluster) bool { return reflect.DeepEqual(a, b) })
	if !reflect.DeepEqual(clusters, of.Plan.Proxy.Clusters) || len(clusters) == 0 {
		t.Errorf("clusters of the parts: %v, of the whole: %v", clusters, of.Plan.Proxy.Clusters)
	}
	if !reflect.DeepEqual(policies, of.Plan.Proxy.Policies) || len(policies) != 2 {
		t.Errorf("policies of the parts: %v, of the whole: %v", policies, of.Plan.Proxy.Policies)
	}
}

// listLines lists what there is to say, each once.
func listLines(rep *report.Report) (lines []string) {
	for _, p := range rep.Problems() {
		lines = append(lines, compilertest.FormatProblem(p))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestRunControlPlane holds that a target with a control plane of its own gets sessions for its routes, and no proxy.
func TestRunControlPlane(t *testing.T) {
	shop, _, _ := strings.Cut(compilertest.Shop, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute")
	in := newInput(compilertest.Admit(t, strings.Replace(shop, "gatewayClassName: limpet", "gatewayClassName: eg", 1), newRoute("a")))
	in.ControlPlane, in.Policy.ExternalControlPlane = "example.com/controller", true
	p := Run(in, &report.Report{})
	if p.Plan.Proxy != nil || len(p.Plan.Rules) != 1 {
		t.Errorf("a proxy (%v), or not one rule with sessions: %v", p.Plan.Proxy, p.Plan.Rules)
	}
}
