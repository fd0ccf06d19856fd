package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// steps is what each step makes of documents, as Decide takes them.
type steps struct {
	attached   *attachedPolicies
	named      []*namedRule
	configured []*configuredRule
	decided    []*Rule
	shared     map[ruleKey]*Rule
	report     *report.Report
}

var commonDocuments = []string{
	`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, spec: {controllerName: limpet.dev/gateway-controller}}`,
	`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: web}, spec: {gatewayClassName: limpet, listeners: [` +
		`{name: one, protocol: HTTP, port: 80}, {name: two, protocol: HTTP, port: 81}]}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}`,
	`{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {ports: [{port: 80}]}}`,
}

// takeSteps takes them with documents that a Gateway is added to, and Services a and b.
func takeSteps(t *testing.T, o Options, documents ...string) *steps {
	t.Helper()
	text := strings.Join(append(documents, commonDocuments...), "\n---\n")
	s, admission := &steps{report: &report.Report{}}, &report.Report{}
	sources := []read.Source{{Name: "in.yaml", Data: []byte(text)}}
	objects, err := resource.Admit(sources, resource.Options{AssumeAdmitted: true}, admission)
	if err != nil || len(admission.Unreadable()) > 0 {
		t.Fatal(err, admission.Errors(false))
	}
	var ports []*backend.ServicePort
	for _, in := range backend.GatherPorts(objects, nil, nil) {
		ports = append(ports, backend.BuildPort(in))
	}
	topology := gateway.Build(gateway.NewInput(objects, netip.IPv4Unspecified()))
	backends := backend.NewIndex(objects, ports, nil, nil, admission)
	none := Cache{}
	targets := findTargets(objects)
	s.attached = attachPolicies(objects, targets, none.validatePolicies(objects), o, s.report)
	rules := attachRules(listRules(topology.Ports), backends, s.attached, o, s.report)
	s.named = assignNames(none.shareSessions(none.resolveAndClaim(gatherInputs(rules, s.attached, nil, o)), o.HeldNames), o)
	s.configured = none.configureRules(s.named)
	s.decided, s.shared = shareRules(rules, s.configured, nil)
	return s
}

// routeOn is an HTTPRoute on a listener of the Gateway, both if its name is empty.
func routeOn(listener, name, hostname, rules string) string {
	section := ""
	if listener != "" {
		section = ", sectionName: " + listener
	}
	return fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: %s}, `+
		`spec: {parentRefs: [{name: web%s}], hostnames: [%s], rules: %s}}`, name, section, hostname, rules)
}

// ruleWith is a rule for a path with a session inline, to Service a.
func ruleWith(path, session string) string {
	return fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: "%s"}}], backendRefs: [{name: a, port: 80}], `+
		`sessionPersistence: %s}`, path, session)
}

// plainRule is one without, to Services.
func plainRule(path string, services ...string) string {
	var refs []string
	for _, s := range services {
		refs = append(refs, "{name: "+s+", port: 80}")
	}
	return fmt.Sprintf(`{matches: [{path: {type: PathPrefix, value: "%s"}}], backendRefs: [%s]}`, path, strings.Join(refs, ", "))
}

// policyOn is a SessionPersistencePolicy on a target with settings.
func policyOn(target, settings string) string {
	return `{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p}, ` +
		`spec: {targetRefs: [` + target + `], ` + settings + `}}`
}

// The targets of policies.
const (
	onGateway  = `{group: gateway.networking.k8s.io, kind: Gateway, name: web}`
	onListener = `{group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: two}`
	onRoute    = `{group: gateway.networking.k8s.io, kind: HTTPRoute, name: r}`
	onServices = `{group: "", kind: Service, name: a}, {group: "", kind: Service, name: b}`
)

// expectLines compares what was made with what a case wants, line by line.
func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
