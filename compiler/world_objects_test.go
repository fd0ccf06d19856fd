package compiler

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// worldWords are what edits make of words, to and fro: a change of one object that others depend on.
var worldWords = [][2]string{
	// hosts that meet, by name, by wildcard, or everywhere
	{"[one.own.example.com]", "[two.own.example.com]"},
	{"[two.own.example.com, two.example.org]", `["*.own.example.com"]`},
	{"  hostnames: [three.example.org]\n", ""},
	{"[four.own.example.com]", "[one.own.example.com]"},
	{"fqdn: second.example.com", "fqdn: proxy.example.com"},
	{"[hashed.example.com]", "[a.example.com]"},
	{"[calls.example.com]", "[a.example.com]"},
	// cookies that meet
	{"sessionName: shared\n  idleTimeout", "sessionName: shared\n  cookie: {domain: example.com}\n  idleTimeout"},
	{"sessionName: shared\n  idleTimeout", "cookie: {domain: example.org}\n  idleTimeout"},
	{"sessionName: of-cart", "sessionName: of-cart\n  cookie: {domain: example.org}"},
	{"sessionName: of-cart", "sessionName: shared"},
	{"cookie: {name: backend-cookie", "cookie: {name: shared"},
	// policies
	{"kind: HTTPRoute, name: two}", "kind: HTTPRoute, name: one}"},
	{"name: one, sectionName: first}", "name: two}"},
	{"{name: first, ", "{name: renamed, "},
	{`{group: "", kind: Service, name: cart}`, `{group: "", kind: Service, name: leaving}`},
	{`{group: "", kind: Service, name: cart}`, `{group: "", kind: Service, name: cart, sectionName: web}`},
	{`{group: "", kind: Service, name: cart}`, `{kind: Namespace, name: shop}`},
	{"{group: \"\", kind: Service, name: cart}]\n  sessionName: of-cart", "{kind: HTTPRoute, name: one}]\n  scope: Route\n  sessionName: of-cart"},
	{"name: web, port: 80,", "name: http, port: 80,"},
	{"idleTimeout: 22m", "idleTimeout: 22m\n  drainTimeout: 90s"},
	{"idleTimeout: 21m", "override: {idleTimeout: 21m}"},
	{"strategy: LeastRequest", "strategy: Random"},
	{"percent: 30", "percent: 31"},
	{"zone: here", "zone: there"},
	{"limits: {maxConnections: 42}", "limits: {maxConnections: 43}"},
	{"trafficDistribution: PreferClose", "trafficDistribution: PreferSameNode"},
	{"forZones: [{name: elsewhere}]", "forZones: [{name: here}]"},
	{"interval: 31s", "interval: 51s"},
	{"name: hashed, sectionName: checked}", "name: hashed}"},
	{`kind: HTTPRoute, name: hashed, sectionName: checked}`, `kind: HTTPRoute, name: one}`},
	{"consecutive5xxErrors: 35", "consecutive5xxErrors: 36"},
	{"slowStart: {window: 40s, ", "strategy: Random\n  slowStart: {window: 40s, "},
	{"idleTimeout: 22m", "idleTimeout: 22m\n  keepUnselected: 20m"},
	{"absoluteTimeout: 10h", "absoluteTimeout: 10h\n  revocation: {backends: [\"shop/cart:80 before 2026-11-22T08:00:00Z\"]}"},
	{"idleTimeout: 22m", "idleTimeout: 22m\n  revocation: {backends: [\"shop/cart:80 before 2026-11-22T08:00:00Z\", \"shop/gone:80 before 2026-11-22T08:00:00Z\"]}"},
	{"conditions: {ready: false, serving: true, terminating: true}", "conditions: {ready: false}"},
	// backends
	{"port: 80, protocol: TCP", "port: 81, protocol: TCP"},
	{"addresses: [10.0.0.1]", "addresses: [10.0.0.8]"},
	{"addresses: [10.0.0.3]", "addresses: [10.0.0.1]"},
	{", conditions: {ready: false, serving: true, terminating: true}", ""},
	{"service-name: six}", "service-name: cart}"},
	{"sessionAffinity: None", "sessionAffinity: ClientIP"},
	{"appProtocol: http", "appProtocol: kubernetes.io/h2c"},
	{"matchLabels: {app: xb}", "matchLabels: {app: xc}"},
	{"selector: {app: xb}", "selector: {app: xc}"},
	{"number: 8088", "number: 8089"},
	// Gateways and what they read
	{"controllerName: limpet.dev/gateway-controller", "controllerName: another.example/controller"},
	{"sectionName: plain", "sectionName: own"},
	{"parentRefs: [{name: second", "parentRefs: [{name: web"},
	{"hostname: other.example.org", "hostname: two.example.org"},
	{`hostname: "*.own.example.com"`, `hostname: "*.example.com"`},
	{"type: kubernetes.io/tls", "type: Opaque"},
	{"kind: HTTPRoute, namespace: other", "kind: HTTPRoute, namespace: others"},
	{"labels: {team: shop}", "labels: {team: none}"},
	// TLS to backends
	{"name: six-tls, sectionName: web", "name: six-tls"},
	{"kind: Service, name: stream}", "kind: Service, name: cart}"},
	{"wellKnownCACertificates: System", `caCertificateRefs: [{group: "", kind: ConfigMap, name: ca}]`},
	{"kind: ConfigMap, name: xb-ca", "kind: ConfigMap, name: ca"},
	{"hostname: six.example.com", "hostname: seven.example.com"},
	{"caSecret: proxy-ca, subjectName: proxy-name", "caSecret: none, subjectName: proxy-name"},
	{"  ca.crt: |", "  other.crt: |"},
	{"{name: web, port: 80}, {name: other", "{name: renamed, port: 80}, {name: other"},
	// connections
	{"hostnames: [tls.example.com]", "hostnames: [a.ends.example.com]"},
	{"hostnames: [a.pass.example.com]", "hostnames: [b.pass.example.com, a.web.example.com]"},
	{"sectionName: tcp, port: 9000", "sectionName: tls, port: 9443"},
	{"name: stream-b, port: 81, weight: 2", "name: absent, port: 81, weight: 2"},
	{"addresses: [10.0.7.1]", "addresses: [10.0.7.3]"},
	{"{addresses: [10.0.7.5]}, ", ""},
	{"mode: Passthrough", "mode: Terminate"},
	{"protocol: TCP, allowedRoutes", "protocol: HTTP, allowedRoutes"},
	{"name: leaving-soon, port: 81}]}]\n", "name: shared, port: 81}]}]\n"},
	// no good
	{"namespace: shop}\nspec: {ports: [{port: 80}]}", "namespace: shop}\nspec: {ports: []}"},
	{"protocol: HTTPS, hostname: other", "protocol: TLS, hostname: other"},
	{"gatewayClassName: limpet", "gatewayClassName: ''"},
	{"# calls\n", "\n"},
}

// worldObject is a document that edits change, leave out and bring back.
type worldObject struct {
	name, original, text string
	gone                 bool
}

// loadWorld gives the documents that are followed, each in a source of its own.
func loadWorld(t *testing.T) []*worldObject {
	t.Helper()
	return slices.DeleteFunc(loadObjects(t, "effects.yaml", "follower.yaml", "effects-stream.yaml"), isStreams)
}

// loadStreams gives the Gateways with listeners for the connections of HTTPProxies. All of them are gone at first.
func loadStreams(t *testing.T) []*worldObject {
	t.Helper()
	world := slices.DeleteFunc(loadObjects(t, "effects-stream.yaml"), func(o *worldObject) bool { return !isStreams(o) })
	for _, o := range world {
		o.gone = true
	}
	return world
}

// isStreams reports whether an object is a Gateway with listeners for the connections of HTTPProxies.
func isStreams(o *worldObject) bool { return strings.Contains(o.text, "metadata: {name: streams, ") }

func loadObjects(t *testing.T, files ...string) (world []*worldObject) {
	t.Helper()
	for _, file := range files {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(data), "\n---\n") {
			world = append(world, &worldObject{name: fmt.Sprintf("%s-%03d.yaml", file, i), original: text + "\n", text: text + "\n"})
		}
	}
	return world
}

// edit changes an object: it goes or comes back, or a word in it becomes another one and back.
func (o *worldObject) edit(random *rand.Rand) {
	if o.gone || random.IntN(5) == 0 {
		o.gone = !o.gone
		return
	}
	if random.IntN(4) == 0 {
		o.text = "# a comment\n" + o.original
		return
	}
	for _, at := range random.Perm(len(worldWords)) {
		w := worldWords[at]
		if strings.Contains(o.text, w[0]) {
			o.text = strings.Replace(o.text, w[0], w[1], 1)
			return
		}
	}
	o.text = o.original
}

// mend undoes all edits: what an API server would not admit may be among them, and nothing is compiled while it is there.
func mend(world []*worldObject) (changed []*worldObject) {
	for _, o := range world {
		if !o.gone && o.text != o.original {
			o.text = o.original
			changed = append(changed, o)
		}
	}
	return changed
}
