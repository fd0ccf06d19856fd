package gateway

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// built is what became of documents.
type built struct {
	ports  []Port
	status *AttachmentStatus
	rep    *report.Report
	usage  Usage
}

// buildAll works out which requests reach which rule, where limpet serves the Gateways on 0.0.0.0.
func buildAll(t *testing.T, documents ...string) *built {
	t.Helper()
	return newBuilt(Build(NewInput(compilertest.Admit(t, documents...), netip.MustParseAddr("0.0.0.0"))))
}

// buildControlled does so where a control plane does, with Istio's kinds among the documents.
func buildControlled(t *testing.T, controller gatewayv1.GatewayController, documents ...string) *built {
	t.Helper()
	objects, rep := compilertest.TryAdmit(t, resource.Options{Istio: true, ExternalControlPlane: true}, documents...)
	if len(rep.Unreadable()) > 0 {
		t.Fatal(rep.Errors(false))
	}
	return newBuilt(Build(NewInputPerGateway(objects, controller)))
}

func newBuilt(t *Topology) *built {
	rep := &report.Report{}
	rep.Add(&t.OfGateways)
	rep.Add(&t.OfRoutes)
	return &built{t.Ports, t.Attachments, rep, t.Usage}
}

// String has a line for each port and one for each host of it: its domain, the listener, and its matches as
// ROUTE/RULE/MATCH, strongest first.
func (b *built) String() string {
	var text strings.Builder
	for _, p := range b.ports {
		tls := ""
		if p.TLS {
			tls = " TLS"
		}
		fmt.Fprintf(&text, "%s%s\n", netip.AddrPortFrom(p.Address, p.Number), tls)
		for _, h := range p.Hosts {
			owner := "-"
			if h.Listener != nil {
				owner = h.Listener.Key()
			}
			fmt.Fprintf(&text, "%s %s:", strings.Join(listDomains(h), ","), owner)
			for _, m := range h.Matches {
				fmt.Fprintf(&text, " %s/%d/%d", m.Route.Name, m.Rule, m.Match)
			}
			text.WriteString("\n")
		}
	}
	return text.String()
}

func listDomains(h Host) []string { return append([]string{h.Domain}, h.Others...) }

// checkText compares the lines of texts, without regard to how they are indented.
func checkText(t *testing.T, got fmt.Stringer, want string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if text := strings.TrimSpace(got.String()); text != strings.Join(lines, "\n") {
		t.Errorf("got\n%s\nwant\n%s", text, strings.Join(lines, "\n"))
	}
}

const limpetClass = `{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: limpet}, spec: {controllerName: limpet.dev/gateway-controller}}`

// gatewayOf is a Gateway of the class in the namespace default. Its metadata begins with its name.
func gatewayOf(metadata, listeners, spec string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: " + metadata + "}\n" +
		"spec: {gatewayClassName: limpet, listeners: [" + listeners + "]" + spec + "}"
}

// routeOf is an HTTPRoute with a spec. Its metadata begins with its name.
func routeOf(metadata, spec string) string {
	return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: " + metadata + "}\nspec: {" + spec + "}"
}

const (
	onPort80 = "{name: http, protocol: HTTP, port: 80}"
	toWeb    = "parentRefs: [{name: web}]"
	oneRule  = ", rules: [{}]"
	older    = `, creationTimestamp: "2026-01-01T00:00:00Z"`
	younger  = `, creationTimestamp: "2026-01-02T00:00:00Z"`
)

// listenerOf is a listener for HTTP on port 80 with more to it.
func listenerOf(name, more string) string {
	return "{name: " + name + ", protocol: HTTP, port: 80, " + more + "}"
}

// TestListeners holds where Gateways listen, and which of them have to give way.
func TestListeners(t *testing.T) {
	web := gatewayOf("web", onPort80, "")
	for name, c := range map[string]struct {
		documents []string
		want      string
		warnings  []string
	}{
		"where the compiler binds":             {[]string{limpetClass, web}, "0.0.0.0:80\n* default/web/http:", nil},
		"on its own addresses, each once":      {[]string{limpetClass, gatewayOf("web", onPort80, `, addresses: [{value: 10.0.0.2}, {value: "fd00::1"}, {value: 10.0.0.1}, {value: "::ffff:10.0.0.2"}]`)}, "10.0.0.1:80\n* default/web/http:\n10.0.0.2:80\n* default/web/http:\n[fd00::1]:80\n* default/web/http:", nil},
		"a class that is not in the input":     {[]string{web}, "", []string{`Gateway default/web: spec.gatewayClassName: Not found: "limpet": there is no GatewayClass limpet in the input: the Gateway is left out [Pending]`}},
		"two hosts on a port":                  {[]string{limpetClass, gatewayOf("web", listenerOf("a", "hostname: a.example.com")+","+listenerOf("b", `hostname: "*.example.com"`), "")}, "0.0.0.0:80\na.example.com default/web/a:\n*.example.com default/web/b:", nil},
		"two Gateways on two ports":            {[]string{limpetClass, web, gatewayOf("b", "{name: http, protocol: HTTP, port: 8080}", "")}, "0.0.0.0:80\n* default/web/http:\n0.0.0.0:8080\n* default/b/http:", nil},
		"two Gateways on a port share it":      {[]string{limpetClass, web, gatewayOf("b", listenerOf("http", "hostname: b.example.com"), "")}, "0.0.0.0:80\nb.example.com default/b/http:\n* default/web/http:", nil},
		"two Gateways on a host: the older":    {[]string{limpetClass, gatewayOf("a"+younger, onPort80, ""), gatewayOf("b"+older, onPort80, "")}, "0.0.0.0:80\n* default/b/http:", []string{`Gateway default/a: spec.listeners[0]: Invalid value: "http": conflicts with listener http of Gateway default/b, which has the same port and hostname: the listener is left out on 0.0.0.0:80 [HostnameConflict]`}},
		"two Gateways on a host: by name":      {[]string{limpetClass, gatewayOf("b", onPort80, ""), gatewayOf("a", onPort80, "")}, "0.0.0.0:80\n* default/a/http:", []string{"Gateway default/b: spec.listeners[0]: Invalid value"}},
		"two protocols on a port: the older's": {[]string{limpetClass, gatewayOf("a", "{name: s, protocol: HTTPS, port: 80, hostname: a.example.com, tls: {certificateRefs: [{name: gone}]}}", ""), gatewayOf("b"+older, onPort80, "")}, "0.0.0.0:80\n* default/b/http:", []string{"Gateway default/a: spec.listeners[0].protocol: Invalid value: \"HTTPS\": an older Gateway has the port with another protocol: the listener is left out on 0.0.0.0:80 [ProtocolConflict]", "certificateRefs"}},
		"two protocols of a Gateway: neither":  {[]string{limpetClass, gatewayOf("a", onPort80+", {name: s, protocol: HTTPS, port: 80, hostname: a.example.com, tls: {certificateRefs: [{name: gone}]}}", "")}, "", []string{"spec.listeners[0].protocol: Invalid value: \"HTTP\": another listener of the Gateway has the port with another protocol: the listener is left out [ProtocolConflict]", "spec.listeners[1].protocol: Invalid value: \"HTTPS\"", "certificateRefs"}},
		"a kind of route that limpet lacks":    {[]string{limpetClass, gatewayOf("web", listenerOf("http", "allowedRoutes: {kinds: [{kind: TCPRoute}, {kind: HTTPRoute}]}"), "")}, "0.0.0.0:80\n* default/web/http:", []string{`spec.listeners[0].allowedRoutes.kinds[0].kind: Unsupported value: "TCPRoute": supported values: "HTTPRoute", "GRPCRoute" [InvalidRouteKinds]`}},
		"a group of routes that limpet lacks":  {[]string{limpetClass, gatewayOf("web", listenerOf("http", "allowedRoutes: {kinds: [{group: example.com, kind: HTTPRoute}]}"), "")}, "0.0.0.0:80\n* default/web/http:", []string{`spec.listeners[0].allowedRoutes.kinds[0].group: Unsupported value: "example.com"`}},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, c.documents...)
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}

// TestAddressesThatCannotBeBound leaves them out and listens on the others.
func TestAddressesThatCannotBeBound(t *testing.T) {
	objects, rep := compilertest.TryAdmit(t, resource.Options{AssumeAdmitted: true}, limpetClass,
		gatewayOf("web", onPort80, `, addresses: [{type: IPAddress, value: here}, {type: IPAddress, value: "fe80::1%eth0"}, {type: IPAddress, value: 10.0.0.1}]`))
	if len(rep.Unreadable()) > 0 {
		t.Fatal(rep.Errors(false))
	}
	b := newBuilt(Build(NewInput(objects, netip.MustParseAddr("0.0.0.0"))))
	checkText(t, b, "10.0.0.1:80\n* default/web/http:")
	compilertest.CheckProblems(t, b.rep.Warnings(),
		`spec.addresses[0].value: Invalid value: "here": must be an IP address to bind: the Gateway does not listen there [AddressNotUsable]`,
		`spec.addresses[1].value: Invalid value: "fe80::1%eth0": must be an IP address to bind`)
	if got := b.status.Gateways[0]; len(got.Addresses) != 1 || got.Listeners()[0].Bound != 1 {
		t.Errorf("it listens on %v", got.Addresses)
	}
}

// TestRoutesAttach holds which listeners a route attaches to and for which hosts, and why it does not attach.
func TestRoutesAttach(t *testing.T) {
	two := gatewayOf("web", listenerOf("a", "hostname: a.example.com")+", {name: b, protocol: HTTP, port: 81}", "")
	for name, c := range map[string]struct {
		gateway, route string
		want           string
		warnings       []string
	}{
		"to every listener":           {two, routeOf("r", toWeb+oneRule), "0.0.0.0:80\na.example.com default/web/a: r/0/0\n0.0.0.0:81\n* default/web/b: r/0/0", nil},
		"to a listener by name":       {two, routeOf("r", "parentRefs: [{name: web, sectionName: b}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b: r/0/0", nil},
		"to a listener by port":       {two, routeOf("r", "parentRefs: [{name: web, port: 80}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a: r/0/0\n0.0.0.0:81\n* default/web/b:", nil},
		"for hosts of both":           {two, routeOf("r", toWeb+`, hostnames: ["*.example.com", other.org]`+oneRule), "0.0.0.0:80\na.example.com default/web/a: r/0/0\n0.0.0.0:81\nother.org,*.example.com default/web/b: r/0/0\n* default/web/b:", nil},
		"twice to one listener":       {two, routeOf("r", "parentRefs: [{name: web, sectionName: a, port: 80}, {name: web, sectionName: a, namespace: default}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a: r/0/0\n0.0.0.0:81\n* default/web/b:", nil},
		"no parent":                   {two, routeOf("r", "rules: [{}]"), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{"HTTPRoute default/r: spec.parentRefs: Required value: without one the route attaches to nothing"}},
		"a Gateway that is not there": {two, routeOf("r", "parentRefs: [{name: gone}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{`spec.parentRefs[0].name: Not found: "gone": there is no Gateway default/gone in the input: the route does not attach [NoMatchingParent]`}},
		"a name that is not there":    {two, routeOf("r", "parentRefs: [{name: web, sectionName: c}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{`spec.parentRefs[0].sectionName: Not found: "c": Gateway default/web has no listener named "c": the route does not attach [NoMatchingParent]`}},
		"a port that is not there":    {two, routeOf("r", "parentRefs: [{name: web, port: 82}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{`spec.parentRefs[0].port: Not found: 82: Gateway default/web has no listener on this port: the route does not attach [NoMatchingParent]`}},
		"a name on another port":      {two, routeOf("r", "parentRefs: [{name: web, sectionName: a, port: 81}]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{`spec.parentRefs[0].sectionName: Not found: "a": Gateway default/web has no listener of this name on port 81`}},
		"no host in common":           {two, routeOf("r", "parentRefs: [{name: web, sectionName: a}], hostnames: [b.example.com]"+oneRule), "0.0.0.0:80\na.example.com default/web/a:\n0.0.0.0:81\n* default/web/b:", []string{`HTTPRoute default/r: spec.hostnames: Invalid value: ["b.example.com"]: has no host in common with the listeners of Gateway default/web that spec.parentRefs[0] names: the route does not attach [NoMatchingListenerHostname]`}},
		"another namespace":           {gatewayOf("web", onPort80, ""), routeOf("r, namespace: shop", "parentRefs: [{name: web, namespace: default}]"+oneRule), "0.0.0.0:80\n* default/web/http:", []string{"HTTPRoute shop/r: spec.parentRefs[0]: Forbidden: no listener of Gateway default/web that it names allows HTTPRoutes from namespace shop (allowedRoutes.namespaces of the listener says from where): the route does not attach [NotAllowedByListeners]"}},
		"another namespace, allowed":  {gatewayOf("web", listenerOf("http", "allowedRoutes: {namespaces: {from: All}}"), ""), routeOf("r, namespace: shop", "parentRefs: [{name: web, namespace: default}]"+oneRule), "0.0.0.0:80\n* default/web/http: r/0/0", nil},
		"a kind that is not allowed":  {gatewayOf("web", listenerOf("http", "allowedRoutes: {kinds: [{kind: GRPCRoute}]}"), ""), routeOf("r", toWeb+oneRule), "0.0.0.0:80\n* default/web/http:", []string{"Forbidden: no listener of Gateway default/web that it names allows HTTPRoutes from namespace default: the route does not attach [NotAllowedByListeners]"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, limpetClass, c.gateway, c.route)
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
}

// TestRequestsBelongToOneListener holds that the most specific listener of a host has its requests, and no other of the
// port, and that each host has the routes of all hosts that cover it.
func TestRequestsBelongToOneListener(t *testing.T) {
	isolated := gatewayOf("web", listenerOf("all", "")+","+listenerOf("wild", `hostname: "*.example.com"`)+","+listenerOf("one", "hostname: a.example.com"), "")
	for name, c := range map[string]struct {
		routes []string
		want   string
	}{
		"a listener without routes has its host all the same": {
			[]string{routeOf("r", "parentRefs: [{name: web, sectionName: all}]"+oneRule)},
			"0.0.0.0:80\na.example.com default/web/one:\n*.example.com default/web/wild:\n* default/web/all: r/0/0",
		},
		"a route's host within a wildcard": {
			[]string{routeOf("r", "parentRefs: [{name: web, sectionName: wild}], hostnames: [b.example.com]"+oneRule)},
			"0.0.0.0:80\na.example.com default/web/one:\nb.example.com default/web/wild: r/0/0\n*.example.com default/web/wild:\n* default/web/all:",
		},
		"a route's host that belongs to another listener": {
			[]string{
				routeOf("r", "parentRefs: [{name: web, sectionName: all}], hostnames: [b.example.com]"+oneRule),
				routeOf("w", "parentRefs: [{name: web, sectionName: wild}]"+oneRule),
			},
			"0.0.0.0:80\na.example.com default/web/one:\n*.example.com default/web/wild: w/0/0\n* default/web/all:",
		},
		"the host's own route before that of a wildcard, whatever it matches": {
			[]string{
				routeOf("wide", "parentRefs: [{name: web, sectionName: wild}], rules: [{matches: [{path: {type: Exact, value: /a}}]}]"), routeOf("narrow", "parentRefs: [{name: web, sectionName: wild}], hostnames: [b.example.com]"+oneRule),
				routeOf("subdomains", `parentRefs: [{name: web, sectionName: wild}], hostnames: ["*.b.example.com"]`+oneRule),
			},
			"0.0.0.0:80\na.example.com default/web/one:\nb.example.com default/web/wild: narrow/0/0 wide/0/0\n" +
				"*.b.example.com default/web/wild: subdomains/0/0 wide/0/0\n*.example.com default/web/wild: wide/0/0\n* default/web/all:",
		},
	} {
		t.Run(name, func(t *testing.T) { checkText(t, buildAll(t, append(c.routes, limpetClass, isolated)...), c.want) })
	}
}

// TestEqualMatches holds that of two equal matches the younger route's, or the later one of a route, is told that it gets nothing, and
// from whom. Matches that differ in anything are no equals, nor is one for a host the equal of one for hosts below a wildcard.
func TestEqualMatches(t *testing.T) {
	const to, host = toWeb + ", ", "hostnames: [a.org], "
	rules := func(matches ...string) string {
		return "rules: [{matches: [" + strings.Join(matches, "]}, {matches: [") + "]}]"
	}
	const cart = "{path: {value: /cart}}"
	warning := func(rest string) string { return "HTTPRoute default/young: " + rest }
	for name, c := range map[string]struct {
		old, young string
		want       []string
	}{
		"one of each":          {to + rules(cart), to + rules(cart), []string{warning("spec.rules[0].matches[0]: HTTPRoute default/old, which goes first, has an equal match: requests for * go there")}},
		"without matches":      {to + "rules: [{}]", to + "rules: [{matches: []}]", []string{warning("spec.rules[0]: HTTPRoute default/old, which goes first")}},
		"a slash more":         {to + rules(cart), to + rules("{path: {value: /cart/}}"), []string{warning("spec.rules[0].matches[0]: HTTPRoute default/old")}},
		"one of several":       {to + rules(cart), to + rules("{path: {value: /shop}}", "{path: {value: /else}}, "+cart), []string{warning("spec.rules[1].matches[1]: HTTPRoute default/old")}},
		"in another order":     {to + rules("{headers: [{name: a, value: b}, {name: C, value: d}]}"), to + rules("{headers: [{name: c, value: d}, {name: A, value: b}]}"), []string{warning("spec.rules[0].matches[0]: HTTPRoute default/old")}},
		"on one host":          {to + host + rules(cart), to + "hostnames: [a.org, b.org], " + rules(cart), []string{warning("spec.rules[0].matches[0]: HTTPRoute default/old, which goes first, has an equal match: requests for a.org go there")}},
		"twice in a route":     {to + rules("{path: {value: /old}}"), to + rules(cart, cart), []string{warning("spec.rules[1].matches[0]: rule 0 of the route, which goes first, has an equal match")}},
		"another path":         {to + rules(cart), to + rules("{path: {value: /carT}}"), nil},
		"another sort":         {to + rules(cart), to + rules("{path: {type: Exact, value: /cart}}"), nil},
		"another value":        {to + rules("{headers: [{name: a, value: b}]}"), to + rules("{headers: [{name: a, value: B}]}"), nil},
		"a sort of value":      {to + rules("{headers: [{name: a, value: b}]}"), to + rules("{headers: [{name: a, value: b, type: RegularExpression}]}"), nil},
		"a query, no header":   {to + rules("{queryParams: [{name: a, value: b}]}"), to + rules("{headers: [{name: a, value: b}]}"), nil},
		"another method":       {to + rules("{method: GET}"), to + rules("{method: PUT}"), nil},
		"another host":         {to + host + rules(cart), to + "hostnames: [b.org], " + rules(cart), nil},
		"a host of a wildcard": {to + `hostnames: ["*.org"], ` + rules(cart), to + host + rules(cart), nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, routeOf("young"+younger, c.young), routeOf("old"+older, c.old), limpetClass, gatewayOf("web", onPort80, ""))
			compilertest.CheckProblems(t, b.rep.Warnings(), c.want...)
		})
	}
}

// TestRoutesOfTwoKindsOnControlPlanes holds that no route is kept out whose control plane serves it: Istio and Envoy Gateway
// put routes of all kinds together on a host.
func TestRoutesOfTwoKindsOnControlPlanes(t *testing.T) {
	grpc := strings.Replace(routeOf("g"+older, toWeb+oneRule), "kind: HTTPRoute", "kind: GRPCRoute", 1)
	b := buildControlled(t, "istio.io/gateway-controller", grpc, routeOf("h"+younger, toWeb+oneRule), gatewayOf("web", onPort80, ""))
	checkText(t, b, "[fd00::]:80\n* default/web/http: g/0/0 h/0/0")
	compilertest.CheckProblems(t, b.rep.Warnings())
}

// TestRoutesOfTwoKinds holds that of two kinds of routes on one host the one that goes first keeps the other out.
func TestRoutesOfTwoKinds(t *testing.T) {
	grpc := func(metadata, spec string) string {
		return strings.Replace(routeOf(metadata, spec), "kind: HTTPRoute", "kind: GRPCRoute", 1)
	}
	const empty = "0.0.0.0:80\n"
	for name, c := range map[string]struct {
		documents []string
		want      string
		warnings  []string
	}{
		"on one host":      {[]string{routeOf("h"+younger, toWeb+oneRule), grpc("g"+older, toWeb+oneRule)}, empty + "* default/web/http: g/0/0", []string{"HTTPRoute default/h: spec.hostnames: Invalid value: null: GRPCRoute default/g, which goes first, has hosts in common with it on listener http of Gateway default/web, and routes of two kinds share none: the route does not attach [NoMatchingListenerHostname]"}},
		"on two hosts":     {[]string{routeOf("h", toWeb+", hostnames: [a.org]"+oneRule), grpc("g", toWeb+", hostnames: [b.org]"+oneRule)}, empty + "a.org default/web/http: h/0/0\nb.org default/web/http: g/0/0\n* default/web/http:", nil},
		"below a wildcard": {[]string{routeOf("h"+younger, toWeb+`, hostnames: ["*.org"]`+oneRule), grpc("g"+older, toWeb+", hostnames: [b.org]"+oneRule)}, empty + "b.org default/web/http: g/0/0\n* default/web/http:", []string{"HTTPRoute default/h: spec.hostnames: Invalid value"}},
		"above a name":     {[]string{routeOf("h"+younger, toWeb+`, hostnames: [b.org]`+oneRule), grpc("g"+older, toWeb+`, hostnames: ["*.org"]`+oneRule)}, empty + "*.org default/web/http: g/0/0\n* default/web/http:", []string{"HTTPRoute default/h: spec.hostnames: Invalid value"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildAll(t, append(c.documents, limpetClass, gatewayOf("web", onPort80, ""))...)
			checkText(t, b, c.want)
			compilertest.CheckProblems(t, b.rep.Warnings(), c.warnings...)
		})
	}
	t.Run("on one of two listeners", func(t *testing.T) {
		web := gatewayOf("web", onPort80+", {name: more, protocol: HTTP, port: 81}", "")
		b := buildAll(t, limpetClass, web, routeOf("h"+younger, toWeb+oneRule), grpc("g"+older, "parentRefs: [{name: web, sectionName: http}]"+oneRule))
		checkText(t, b, "0.0.0.0:80\n* default/web/http: g/0/0\n0.0.0.0:81\n* default/web/more: h/0/0")
		compilertest.CheckProblems(t, b.rep.Warnings(), "routes of two kinds share none: the route does not attach to that listener")
	})
}

// TestMatchesInOrder holds Gateway API's precedence: each pair has the stronger one first, whatever the documents' order.
func TestMatchesInOrder(t *testing.T) {
	rules := func(matches ...string) string {
		return toWeb + ", rules: [{matches: [" + strings.Join(matches, ", ") + "]}]"
	}
	for name, c := range map[string]struct{ stronger, weaker string }{
		"an exact path before a prefix": {rules("{path: {type: Exact, value: /a}}"), rules("{path: {value: /a}}")},
		"an exact path, however short":  {rules("{path: {type: Exact, value: /}}"), rules("{path: {value: /a/b/c}}")},
		"the longer prefix":             {rules("{path: {value: /a/b}}"), rules("{path: {value: /a}}")},
		"the path before the method":    {rules("{path: {value: /a/b}}"), rules("{path: {value: /a}, method: GET}")},
		"a method before none":          {rules("{path: {value: /a}, method: GET}"), rules("{path: {value: /a}}")},
		"the method before headers":     {rules("{method: GET}"), rules("{headers: [{name: a, value: b}]}")},
		"more headers":                  {rules("{headers: [{name: a, value: b}, {name: c, value: d}]}"), rules("{headers: [{name: a, value: b}]}")},
		"headers before the query":      {rules("{headers: [{name: a, value: b}]}"), rules("{queryParams: [{name: a, value: b}, {name: c, value: d}]}")},
		"more of the query":             {rules("{queryParams: [{name: a, value: b}]}"), rules("{}")},
		"the older route":               {rules("{}"), rules("{}")},
	} {
		t.Run(name, func(t *testing.T) {
			for _, names := range [][2]string{{"a" + older, "b" + younger}, {"b" + older, "a" + younger}} {
				b := buildAll(t, limpetClass, gatewayOf("web", onPort80, ""), routeOf(names[0], c.stronger), routeOf(names[1], c.weaker))
				checkText(t, b, fmt.Sprintf("0.0.0.0:80\n* default/web/http: %.1s/0/0 %.1s/0/0", names[0], names[1]))
			}
		})
	}
	t.Run("places in a route", func(t *testing.T) {
		b := buildAll(t, limpetClass, gatewayOf("web", onPort80, ""), routeOf("r", toWeb+", rules: [{}, {matches: [{path: {value: /a}}, {path: {value: /b}}, {}]}]"))
		checkText(t, b, "0.0.0.0:80\n* default/web/http: r/1/0 r/1/1 r/0/0 r/1/2")
		spec := b.ports[0].Hosts[0].Matches[2].Spec
		if spec.Path == nil || *spec.Path.Type != gatewayv1.PathMatchPathPrefix || *spec.Path.Value != "/" {
			t.Errorf("a match without a path has %+v", spec.Path)
		}
	})
}

// TestPathsBelowAnExpression holds the paths that cookies of a regular expression's requests can have.
func TestPathsBelowAnExpression(t *testing.T) {
	for expression, want := range map[string]string{
		`/a/b/.*`: "/a/b", `/a/b.*`: "/a", `/.*`: "/", `/a|/b`: "/", `.*`: "/", `/a\.b/c/x?`: "/a.b/c", `/a(`: "/",
	} {
		kind := gatewayv1.PathMatchRegularExpression
		if got := LiteralPathPrefix(&gatewayv1.HTTPPathMatch{Type: &kind, Value: &expression}); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

// TestStatusOfUnresolvedRules is an error that clients of each protocol understand.
func TestStatusOfUnresolvedRules(t *testing.T) {
	for kind, want := range map[string]int{"HTTPRoute": 500, "GRPCRoute": 503, "HTTPProxy": 500} {
		if got := UnresolvedStatusCode(&Route{Kind: kind}); got != want {
			t.Errorf("%s: got %d, want %d", kind, got, want)
		}
	}
}
