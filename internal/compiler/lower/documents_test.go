package lower

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/loadbalancing"
	"github.com/limpet-proxy/limpet/internal/compiler/policy"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/retrybudget"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

const gatewayDocuments = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec: {gatewayClassName: c, listeners: [{name: http, protocol: HTTP, port: 80}, {name: more, protocol: HTTP, port: 81}]}
---
`

// routeDocument is a route of a kind with these rules, on all listeners of the Gateway.
func routeDocument(kind, rules string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {name: r}
spec: {parentRefs: [{name: web}], rules: [%s]}
---
`, kind, rules)
}

// serviceDocuments are a Service on port 80 and its endpoints ADDRESS or, for one that terminates, -ADDRESS.
func serviceDocuments(name string, addresses ...string) string {
	var endpoints []string
	for _, a := range addresses {
		host, draining := strings.CutPrefix(a, "-")
		endpoints = append(endpoints, fmt.Sprintf("{addresses: [%s], conditions: {ready: %t, serving: true, terminating: %t}}", host, !draining, draining))
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [%[2]s]
---
`, name, strings.Join(endpoints, ", "))
}

// sessionDocument is a policy with further fields that gives a target sessions.
func sessionDocument(kind, name, fields string) string {
	group := "gateway.networking.k8s.io"
	if kind == "Service" {
		group = ""
	}
	return fmt.Sprintf(`
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: %s-%s}
spec: {targetRefs: [{group: %q, kind: %s, name: %s}], sessionName: cart%s}
---
`, strings.ToLower(kind), name, group, kind, name, fields)
}

// steps are what the steps before this one give.
type steps struct {
	objects   *resource.Objects
	ports     []gateway.Port
	backends  *backend.Index
	decisions *policy.Decisions
	rep       *report.Report
}

// admit admits documents.
func admit(t *testing.T, o resource.Options, documents ...string) *steps {
	t.Helper()
	objects, rep := compilertest.TryAdmit(t, o, documents...)
	if len(rep.Unreadable()) > 0 {
		t.Fatal(rep.Errors(false))
	}
	return &steps{objects: objects, rep: rep}
}

// lowerDocuments lowers documents for a proxy, with what is known of hosts that terminate.
func lowerDocuments(t *testing.T, draining *Draining, documents ...string) (*ir.Config, []*BackendTraffic, *steps) {
	t.Helper()
	s := admit(t, resource.Options{}, append([]string{gatewayDocuments}, documents...)...)
	s.ports = gateway.Build(gateway.NewInput(s.objects, netip.MustParseAddr("0.0.0.0"))).Ports
	var ports []*backend.ServicePort
	for _, in := range backend.GatherPorts(s.objects, nil, nil) {
		ports = append(ports, backend.BuildPort(in))
	}
	s.backends = backend.NewIndex(s.objects, ports, nil, nil, s.rep)
	s.decisions = policy.Cache{}.Decide(s.objects, s.ports, s.backends, policy.Options{KnowsTermination: draining != nil}, s.rep)
	lowered := Lower(s.ports, Input{
		Backends: s.backends, LoadBalancing: loadbalancing.New(s.objects, s.rep), RetryBudgets: retrybudget.New(s.objects, s.rep),
		Decisions: s.decisions, Draining: draining,
	}, s.rep)
	return lowered.Config, lowered.Traffic, s
}

// planDocuments gives the plan for Istio.
func planDocuments(t *testing.T, release sessionapi.APIRelease, documents ...string) *ir.Plan {
	t.Helper()
	plan, _ := planAndReport(t, release, documents...)
	return plan
}

func planAndReport(t *testing.T, release sessionapi.APIRelease, documents ...string) (*ir.Plan, *report.Report) {
	t.Helper()
	s := admit(t, resource.Options{ExternalControlPlane: true, Istio: true}, documents...)
	s.ports = gateway.Build(gateway.NewInputPerGateway(s.objects, "istio.io/gateway-controller")).Ports
	s.backends = backend.NewUnverified(s.objects)
	s.decisions = policy.Cache{}.Decide(s.objects, s.ports, s.backends, policy.Options{
		ExternalControlPlane: true, Release: release,
	}, s.rep)
	return NewPlan(s.objects, s.ports, s.decisions, s.backends, s.rep), s.rep
}
