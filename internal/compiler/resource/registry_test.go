package resource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestRegistry holds what is shown of the objects of each kind: that they have a status, can be described, or have
// policies attached, and what else of them a target can name.
func TestRegistry(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true},
		document(gatewayClass, "spec: {controllerName: a.b/c}"),
		document(gateway, "spec: {gatewayClassName: c, listeners: [{name: http, port: 80, protocol: HTTP}, {name: more, port: 81, protocol: HTTP}]}"),
		document(httpRoute, "spec: {rules: [{name: pay}, {}]}"),
		strings.Replace(document(grpcRoute, "spec: {rules: [{}]}"), "name: x", "name: grpc", 1),
		document(service, "spec: {ports: [{port: 80}]}"), document(secret, "type: Opaque"), document(endpointSlice, "addressType: IPv4"),
		document(xbackend, "spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {a: b}}}"),
		document(sessionPolicy, `spec: {targetRefs: [{group: "", kind: Service, name: x}]}`),
		document(trafficPolicy, `spec: {targetRefs: [{group: "", kind: Service, name: x}]}`),
		document(loadBalancer, `spec: {targetRefs: [{group: "", kind: Service, name: x}]}`),
		document(httpProxy, "spec: {virtualhost: {fqdn: a.org}, routes: [{services: [{name: a, port: 80}]}]}"),
		document(istioGateway, "spec: {}"), document(serviceEntry, "spec: {hosts: [a.org]}"),
		document(virtualServ, "spec: {hosts: [a.org], http: [{name: pay, route: [{destination: {host: a}}]}]}"))
	if problems := rep.Errors(false); problems != nil {
		t.Fatal(problems)
	}
	visited := func(o *resource.Objects, wanted func(resource.Traits) bool) string {
		var names []string
		o.Visit(wanted, func(e resource.Entry) {
			if e.Subject.String() != e.Ref.String() {
				t.Errorf("%s is called %s", e.Ref, e.Subject)
			}
			text := e.Ref.Kind + "/" + e.Ref.Name
			if len(e.Sections) > 0 {
				text += fmt.Sprint(e.Sections)
			}
			names = append(names, text)
		})
		return strings.Join(names, " ")
	}
	const routes = "GatewayClass/x Gateway/x[http more] GRPCRoute/grpc HTTPRoute/x[pay] VirtualService/x[pay] "
	const policies = "SessionPersistencePolicy/x XBackendTrafficPolicy/x LoadBalancerPolicy/x HTTPProxy/x"
	for name, c := range map[string]struct {
		wanted func(resource.Traits) bool
		want   string
	}{
		"with a status":   {func(t resource.Traits) bool { return t.HasStatus }, routes + "XBackend/x " + policies},
		"describable":     {func(t resource.Traits) bool { return t.Describable }, routes + "Service/x XBackend/x " + policies},
		"attachable":      {func(t resource.Traits) bool { return t.Attachable }, routes + "Service/x XBackend/x"},
		"in no namespace": {func(t resource.Traits) bool { return t.ClusterScoped }, "GatewayClass/x"},
	} {
		if got := visited(objects, c.wanted); got != c.want {
			t.Errorf("%s: got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestNamespacesAsServersGiveThem reads the labels, and one more: an API server's own.
func TestNamespacesAsServersGiveThem(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{},
		"{apiVersion: v1, kind: Namespace, metadata: {name: x, labels: {a: b}}, spec: {finalizers: [kubernetes]}, status: {phase: Active}}")
	compilertest.CheckProblems(t, rep.Problems())
	if got := fmt.Sprint(objects.Namespaces[0].Labels); got != "map[a:b kubernetes.io/metadata.name:x]" {
		t.Errorf("got %s", got)
	}
}

// TestPassedOver counts what is none of limpet's business, and what it wrote itself; a name near to nothing is no mistake.
func TestPassedOver(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{},
		document("apps/v1/Deployment", "spec: {}"), document("apps/v1/Deployment", "spec: {}"), "[a, b]", "replicas: 2",
		"{apiVersion: v2, name: chart}", "{kind: Kustomization, resources: [a.yaml]}", "# all of it is switched off", filterOfLimpet,
		document("gateway.networking.x-k8s.io/v1alpha1/XMesh", "spec: {}"))
	compilertest.CheckProblems(t, rep.Problems())
	want := "map[Deployment:2 EnvoyFilter (written by limpet):1 Kustomization:1 XMesh:1 no Kubernetes object:3]"
	if got := fmt.Sprint(objects.PassedOver); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOwnProxyKinds reads some kinds where limpet configures the proxy, and leaves them to a control plane elsewhere.
func TestOwnProxyKinds(t *testing.T) {
	for _, kind := range []string{"BackendTLSPolicy", "ListenerSet", "TLSRoute", "TCPRoute", "UDPRoute"} {
		broken := document("gateway.networking.k8s.io/v1/"+kind, "spec: {unknown: 1}")
		if _, rep := compilertest.TryAdmit(t, resource.Options{}, broken); len(rep.Problems()) == 0 {
			t.Errorf("%s is passed over", kind)
		}
		objects, rep := compilertest.TryAdmit(t, resource.Options{ExternalControlPlane: true}, broken)
		compilertest.CheckProblems(t, rep.Problems())
		if objects.PassedOver[kind] != 1 {
			t.Errorf("%s is not passed over for a control plane: %v", kind, objects.PassedOver)
		}
	}
}

const filterOfLimpet = "{apiVersion: networking.istio.io/v1alpha3, kind: EnvoyFilter, metadata: {name: limpet-web, labels: {app.kubernetes.io/managed-by: limpet}}}"

// TestNamespaceOfDocuments gives those without one the option's.
func TestNamespaceOfDocuments(t *testing.T) {
	for namespace, want := range map[string]string{"": "default", "shop": "shop"} {
		objects, _ := compilertest.TryAdmit(t, resource.Options{Namespace: namespace}, document(service, "spec: {ports: [{port: 80}]}"))
		if got := objects.Services[0].Namespace; got != want {
			t.Errorf("%q: got %s", namespace, got)
		}
	}
}
