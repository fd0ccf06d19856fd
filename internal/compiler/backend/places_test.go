package backend_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/backend"
	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

const limpetClass = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: limpet}\n" +
	"spec: {controllerName: limpet.dev/gateway-controller}"

const othersClass = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: others}\n" +
	"spec: {controllerName: example.com/others}"

// gatewayIn is a Gateway on port 80.
func gatewayIn(namespace, class, spec string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: web, namespace: " + namespace + "}\n" +
		"spec: {gatewayClassName: " + class + ", listeners: [{name: http, protocol: HTTP, port: 80}]" + spec + "}"
}

// endpointAt is a Service in the namespace default, or an XBackend, and its one endpoint.
func endpointAt(address, port string, selector bool) []string {
	slice := "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a, labels: {kubernetes.io/service-name: cart, app: cart}}\n" +
		"addressType: IPv4\nports: [{name: http, port: " + port + "}]\nendpoints: [{addresses: [\"" + address + "\"]}]"
	if strings.Contains(address, ":") {
		slice = strings.Replace(slice, "IPv4", "IPv6", 1)
	}
	if selector {
		return []string{strings.Replace(slice, "kubernetes.io/service-name: cart, ", "", 1), "apiVersion: gateway.networking.x-k8s.io/v1alpha1\n" +
			"kind: XBackend\nmetadata: {name: cart}\nspec: {type: EndpointSelector, endpointSelector: {matchLabels: {app: cart}}, port: {number: " + port + "}}"}
	}
	return []string{slice, service("")}
}

// TestPlaces holds which endpoints are left out because of what listens there.
func TestPlaces(t *testing.T) {
	bind, admin := netip.MustParseAddr("0.0.0.0"), netip.MustParseAddrPort("127.0.0.1:9901")
	own, other := gatewayIn("default", "limpet", ""), gatewayIn("infra", "limpet", "")
	for name, c := range map[string]struct {
		gateway, address, port string
		controller             bool
		want                   string // a part of the warning; empty for an endpoint that stays
	}{
		"a pod":                                   {other, "10.0.0.1", "8080", false, ""},
		"loopback, and the Gateway elsewhere":     {other, "127.0.0.1", "8080", false, "127.0.0.1 is on Envoy's own machine, and namespace default has no Gateway"},
		"any loopback address":                    {other, "127.8.9.1", "8080", false, "127.8.9.1 is on Envoy's own machine"},
		"IPv6":                                    {other, "::1", "8080", false, "::1 is on Envoy's own machine"},
		"loopback, and a Gateway there":           {own, "127.0.0.1", "8080", false, ""},
		"loopback, and another controller's":      {gatewayIn("default", "others", ""), "127.0.0.1", "8080", false, "has no Gateway"},
		"loopback of a controller's machine":      {own, "127.0.0.1", "8080", true, "127.0.0.1 is on Envoy's own machine"},
		"the admin interface":                     {own, "127.0.0.1", "9901", false, "127.0.0.1:9901 is where Envoy itself listens"},
		"a listener of every address":             {own, "127.0.0.1", "80", false, "127.0.0.1:80 is where Envoy itself listens"},
		"a listener of one address":               {gatewayIn("default", "limpet", ", addresses: [{value: 10.0.0.9}]"), "10.0.0.9", "80", false, "10.0.0.9:80 is where Envoy itself listens"},
		"one of another namespace":                {gatewayIn("infra", "limpet", ", addresses: [{value: 10.0.0.9}]"), "10.0.0.9", "80", false, ""},
		"one of another namespace, on loopback":   {gatewayIn("infra", "limpet", ", addresses: [{value: 127.0.0.9}]"), "127.0.0.9", "80", false, "127.0.0.9:80 is where Envoy itself listens"},
		"another port of a listener's address":    {gatewayIn("default", "limpet", ", addresses: [{value: 10.0.0.9}]"), "10.0.0.9", "81", false, ""},
		"a pod with the port that listeners have": {own, "10.0.0.1", "80", false, ""},
	} {
		for _, selector := range []bool{false, true} {
			objects := compilertest.Admit(t, append(endpointAt(c.address, c.port, selector), c.gateway, limpetClass, othersClass)...)
			topology := buildResolved(objects, bind, admin)
			places := backend.NewPlaces(objects, topology.Claims(), admin)
			places.NoLoopback = c.controller
			rep := &report.Report{}
			x := indexWithin(objects, places, rep)
			ref := "{name: cart, port: 80}"
			if selector {
				ref = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: cart}"
			}
			left := len(mustResolve(t, x, ref).Endpoints)
			problems := ""
			for _, p := range rep.Warnings() {
				problems += p.String() + "\n"
			}
			if (left == 0) != (c.want != "") || !strings.Contains(problems, c.want) {
				t.Errorf("%s (%t): %d endpoints; want %q in\n%s", name, selector, left, c.want, problems)
			}
		}
	}
}

// TestPlacesOnEveryAddress: what listens on every address of a machine is refused at those that are known, and said of those that are not:
// other addresses, and names that nobody but their author has chosen.
func TestPlacesOnEveryAddress(t *testing.T) {
	everywhere, machine := netip.MustParseAddrPort("0.0.0.0:9901"), netip.MustParseAddr("10.0.0.5")
	const admin = "has the port at which Envoy's admin interface, or limpet, listens on every address of its machine"
	const circle = "requests go round in a circle"
	for name, c := range map[string]struct {
		address, port string
		names         string // that the operator allows
		left          int
		want          string
	}{
		"the loopback":                      {"127.0.0.1", "9901", "", 0, "127.0.0.1:9901 is where Envoy itself listens"},
		"an address of the machine":         {"10.0.0.5", "9901", "", 0, "10.0.0.5:9901 is where Envoy itself listens"},
		"one that is not known":             {"10.0.0.6", "9901", "", 1, "its endpoint 10.0.0.6:9901 " + admin},
		"another port":                      {"10.0.0.5", "9902", "", 1, ""},
		"a listener of every address":       {"10.0.0.5", "80", "", 0, "10.0.0.5:80 is where Envoy itself listens"},
		"a name, with a listener's port":    {"a.example.com", "80", "*", 1, "its endpoint a.example.com:80 has the port of one of Envoy's own listeners"},
		"one that the operator has allowed": {"a.example.com", "80", "* *.example.com", 1, ""},
		"a name with another port":          {"a.example.com", "81", "*", 1, ""},
		"a name with the admin's":           {"a.example.com", "9901", "*", 0, "a.example.com:9901 may be where Envoy itself listens"},
	} {
		documents := endpointAt(c.address, c.port, false)
		if c.names != "" {
			documents[0] = strings.Replace(documents[0], "addressType: IPv4", "addressType: FQDN", 1)
		}
		objects := compilertest.Admit(t, append(documents, gatewayIn("infra", "limpet", ""), limpetClass)...)
		topology := buildResolved(objects, netip.MustParseAddr("0.0.0.0"), everywhere)
		places := backend.NewPlaces(objects, topology.Claims(), everywhere)
		places.Machine, places.Names = []netip.Addr{machine}, strings.Fields(c.names)
		rep := &report.Report{}
		left := len(mustResolve(t, indexWithin(objects, places, rep), "{name: cart, port: 80}").Endpoints)
		problems := ""
		for _, p := range rep.Problems() {
			problems += p.String() + "\n"
		}
		if left != c.left || !strings.Contains(problems, c.want) || c.want == "" && (strings.Contains(problems, admin) || strings.Contains(problems, circle)) {
			t.Errorf("%s: %d endpoints; want %d and %q in\n%s", name, left, c.left, c.want, problems)
		}
	}
}

// TestNodes: an endpoint at a machine of the cluster is that of a namespace which has a Pod on its network, and none where an API server
// listens.
func TestNodes(t *testing.T) {
	node, server := netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("10.0.0.6")
	nodes := func(namespaces ...string) *backend.Nodes {
		return &backend.Nodes{
			Pods:       map[netip.Addr][]string{node: namespaces, server: namespaces, netip.MustParseAddr("fd00::5"): nil},
			APIServers: []netip.AddrPort{netip.AddrPortFrom(server, 6443), netip.MustParseAddrPort("127.0.0.1:6443")},
		}
	}
	const machine = " is a machine of the cluster, on whose network namespace default has no Pod"
	for name, c := range map[string]struct {
		nodes         *backend.Nodes
		address, port string
		want          string // a part of the warning; empty for an endpoint that stays
	}{
		"nothing is known":               {nil, "10.0.0.5", "10250", ""},
		"a pod":                          {nodes(), "10.0.0.1", "10250", ""},
		"a node":                         {nodes(), "10.0.0.5", "10250", "10.0.0.5" + machine},
		"a node, IPv6":                   {nodes(), "fd00::5", "8080", "fd00::5" + machine},
		"with another namespace's Pods":  {nodes("kube-system", "shop"), "10.0.0.5", "8080", "10.0.0.5" + machine},
		"with the namespace's Pods":      {nodes("default", "kube-system"), "10.0.0.5", "8080", ""},
		"an API server":                  {nodes(), "10.0.0.6", "6443", "10.0.0.6:6443 is where an API server listens"},
		"beside the namespace's Pods":    {nodes("default"), "10.0.0.6", "6443", "10.0.0.6:6443 is where an API server listens"},
		"another port beside these Pods": {nodes("default"), "10.0.0.6", "8080", ""},
		"another port of its machine":    {nodes(), "10.0.0.6", "8080", "10.0.0.6" + machine},
		"an API server on the loopback":  {nodes("default"), "127.0.0.1", "6443", "127.0.0.1:6443 is where an API server listens"},
		"beside one on the loopback":     {nodes("default"), "127.0.0.1", "8080", ""},
	} {
		for _, selector := range []bool{false, true} {
			objects := compilertest.Admit(t, append(endpointAt(c.address, c.port, selector), gatewayIn("default", "limpet", ""), limpetClass)...)
			places := backend.NewPlaces(objects, nil)
			places.Nodes = c.nodes
			rep := &report.Report{}
			ref := "{name: cart, port: 80}"
			if selector {
				ref = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: cart}"
			}
			left := len(mustResolve(t, indexWithin(objects, places, rep), ref).Endpoints)
			problems := ""
			for _, p := range rep.Warnings() {
				problems += p.String() + "\n"
			}
			if (left == 0) != (c.want != "") || !strings.Contains(problems, c.want) {
				t.Errorf("%s (%t): %d endpoints; want %q in\n%s", name, selector, left, c.want, problems)
			}
		}
	}
}

// buildResolved makes the topology of Gateways that listen where Envoy's admin interface does not.
func buildResolved(objects *resource.Objects, bind netip.Addr, admin netip.AddrPort) *gateway.Topology {
	in, l := gateway.NewInput(objects, bind), gateway.Listening{Admin: admin}
	return gateway.Build(in.Resolved(in.ResolveClaims(l), l))
}
