package compiler

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFollowerKinds holds for each kind that changes listeners, or clusters that many routes share, that one such object
// alone, which comes, changes and goes, makes the result that of a compilation from scratch.
func TestFollowerKinds(t *testing.T) {
	for name, edits := range map[string][2]string{
		"a TCPRoute":                 {streamRouteTo("TCPRoute", "none"), streamRouteTo("TCPRoute", "web")},
		"a UDPRoute":                 {streamRouteTo("UDPRoute", "web"), streamRouteTo("UDPRoute", "none")},
		"a TLSRoute":                 {streamRouteTo("TLSRoute", "none"), streamRouteTo("TLSRoute", "web")},
		"a ListenerSet":              {listenerSetOn("8081"), listenerSetOn("8080")},
		"a BackendTLSPolicy":         {backendTLSFor("cart"), backendTLSFor("other")},
		"an ExtensionService":        {extensionServiceBy("RequestHash"), extensionServiceBy("Random")},
		"an HTTPProxy's connections": {both(passthroughGateway, proxyOfStreams("p", "none")), both(passthroughGateway, proxyOfStreams("p", "cart"))},
		"another one's connections": {
			both(passthroughGateway, both(proxyOfStreams("p", "cart"), proxyOfStreams("q", "none"))), both(passthroughGateway, proxyOfStreams("q", "none")),
		},
		"an HTTPProxy of both in turn": {
			both(passthroughGateway, proxyOfStreams("p", "cart")),
			both(passthroughGateway, "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: p}, spec: {virtualhost: {fqdn: p.org}, "+
				"routes: [{services: [{name: cart, port: 80}]}]}}"),
		},
		"an HTTPProxy that verifies": {both(verifyingProxy, authoritiesIn(t, 0)), both(verifyingProxy, authoritiesIn(t, 1))},
		"an XBackend that verifies":  {both(verifyingBackend, authoritiesOf(t, 0)), both(verifyingBackend, authoritiesOf(t, 1))},
		"a listener of TCP":          {gatewayWith("TCP", "9000"), gatewayWith("TCP", "9001")},
		"a listener of UDP":          {gatewayWith("UDP", "9000"), gatewayWith("UDP", "9001")},
		"a TCPRoute on its listener": {
			both(gatewayWith("TCP", "9000"), streamRouteTo("TCPRoute", "other")),
			both(gatewayWith("TCP", "9000"), strings.Replace(streamRouteTo("TCPRoute", "other"), "cart", "none", 1)),
		},
		"TCPRoutes of two namespaces": {
			both(openTo("TCP"), both(streamRouteIn("b"), streamRouteIn("a"))), both(openTo("TCP"), both(streamRouteIn("a"), streamRouteIn("b"))),
		},
		"a UDPRoute on its listener": {
			both(gatewayWith("UDP", "9000"), streamRouteTo("UDPRoute", "other")),
			both(gatewayWith("UDP", "9001"), streamRouteTo("UDPRoute", "other")),
		},
		"a TCPRoute on the listener of HTTP": {
			streamRouteTo("TCPRoute", "web"), both(gatewayWith("TCP", "9000"), streamRouteTo("TCPRoute", "web")),
		},
		"a ListenerSet for connections": {
			both(strings.Replace(listenerSetOn("8081"), "HTTP", "TCP", 1), streamRouteTo("TCPRoute", "web")),
			both(strings.Replace(listenerSetOn("8081"), "HTTP", "TCP", 1),
				strings.Replace(streamRouteTo("TCPRoute", "more"), "name: more", "name: more, kind: ListenerSet", 1)),
		},
		"a ListenerSet with a policy": {listenerSetOn("8081"), both(listenerSetOn("8081"),
			"{apiVersion: limpet.dev/v1alpha1, kind: SessionPersistencePolicy, metadata: {name: p}, "+
				"spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}], idleTimeout: 1h}}")},
		"a ListenerSet of no Gateway": {strings.Replace(listenerSetOn("8081"), "{name: web}", "{name: none}", 1), listenerSetOn("8082")},
		"a listener of HTTP too":      {gatewayWith("HTTP", "9000"), gatewayWith("HTTP", "9001")},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{ExternalNames: []string{"*"}, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
			base, f := Source{Name: "base.yaml", Data: []byte(kindsBase)}, newFollower(t, o)
			compare := func(step string, of ...Source) {
				t.Helper()
				if err := compareFollowed(t, step, f, append([]Source{base}, of...), o); err != nil {
					t.Error(err)
				}
			}
			compare("before")
			compare("came", Source{Name: "edit.yaml", Data: []byte(edits[0])})
			compare("changed", Source{Name: "edit.yaml", Data: []byte(edits[1])})
			compare("gone")
		})
	}
}

const kindsBase = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: limpet
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, protocol: HTTP, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart}
spec:
  parentRefs: [{name: web}, {kind: ListenerSet, name: more}]
  rules: [{backendRefs: [{name: cart, port: 80}], sessionPersistence: {sessionName: cart}}]
---
{apiVersion: v1, kind: Service, metadata: {name: cart}, spec: {ports: [{port: 80}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`

// streamRouteTo is a route of connections to a Gateway.
func streamRouteTo(kind, gateway string) string {
	version := "v1alpha2"
	hostnames := ""
	if kind == "TLSRoute" {
		version, hostnames = "v1", "hostnames: [cart.example.com], "
	}
	return "{apiVersion: gateway.networking.k8s.io/" + version + ", kind: " + kind + ", metadata: {name: stream}, spec: {" + hostnames +
		"parentRefs: [{name: " + gateway + "}], rules: [{backendRefs: [{name: cart, port: 80}]}]}}"
}

// openTo is a Gateway with a listener of a protocol for all namespaces, and streamRouteIn a route of connections to it.
func openTo(protocol string) string {
	return strings.Replace(gatewayWith(protocol, "9000"), "port: 9000", "port: 9000, allowedRoutes: {namespaces: {from: All}}", 1)
}

func streamRouteIn(namespace string) string {
	return strings.NewReplacer("name: stream}", "name: stream, namespace: "+namespace+"}", "name: other}", "name: other, namespace: default}").
		Replace(streamRouteTo("TCPRoute", "other"))
}

func listenerSetOn(port string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: more}, " +
		"spec: {parentRef: {name: web}, listeners: [{name: more, protocol: HTTP, port: " + port + "}]}}"
}

// passthroughGateway is a Gateway that passes connections through, and proxyOfStreams an HTTPProxy for these.
var passthroughGateway = strings.Replace(gatewayWith("TLS", "9443"), "port: 9443", "port: 9443, tls: {mode: Passthrough}", 1)

func proxyOfStreams(name, service string) string {
	return "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: " + name + "}, spec: {virtualhost: {fqdn: p.org, " +
		"tls: {passthrough: true}}, tcpproxy: {services: [{name: " + service + ", port: 80}]}}}"
}

func backendTLSFor(service string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, metadata: {name: tls}, " +
		"spec: {targetRefs: [{group: '', kind: Service, name: " + service + "}], " +
		"validation: {hostname: cart.example.com, wellKnownCACertificates: System}}}"
}

func extensionServiceBy(strategy string) string {
	return "{apiVersion: projectcontour.io/v1alpha1, kind: ExtensionService, metadata: {name: auth}, " +
		"spec: {protocol: h2c, services: [{name: cart, port: 80}], loadBalancerPolicy: {strategy: " + strategy + "}}}"
}

// An HTTPProxy and an XBackend whose hosts have to show who they are.
const (
	verifyingProxy = "{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: p}, spec: {virtualhost: {fqdn: p.org}, " +
		"routes: [{services: [{name: cart, port: 80, validation: {caSecret: ca, subjectName: cart.org}}]}]}}"
	verifyingBackend = "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackend, metadata: {name: x}, spec: {type: ExternalHostname, " +
		"externalHostname: {hostname: x.org}, port: {number: 443}, tls: {mode: ServerOnly, validation: {hostname: x.org, " +
		"caCertificateRefs: [{group: '', kind: ConfigMap, name: ca}]}}}}\n---\n" +
		"{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: x}, spec: {parentRefs: [{name: web}], hostnames: [x.org], " +
		"rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: x}]}]}}"
)

// readAuthorities gives as many of the certificates that other tests have.
func readAuthorities(t *testing.T, count int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "backend-tls.in.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	certificate := certificates.Find(text)
	return strings.Repeat(strings.ReplaceAll(string(certificate), "\n    ", "\n")+"\n", count)
}

var certificates = regexp.MustCompile(`(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----`)

// authoritiesIn is a Secret with certificates of authorities, and authoritiesOf a ConfigMap.
func authoritiesIn(t *testing.T, count int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: ca}, stringData: {ca.crt: %q}}", readAuthorities(t, count))
}

func authoritiesOf(t *testing.T, count int) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: ca}, data: {ca.crt: %q}}", readAuthorities(t, count))
}

func gatewayWith(protocol, port string) string {
	return "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: other}, spec: {gatewayClassName: limpet, " +
		"listeners: [{name: other, protocol: " + protocol + ", port: " + port + "}]}}"
}

func both(a, b string) string { return a + "\n---\n" + b }

// TestFollowerWorldStreams is TestFollowerWorld with listeners and routes of connections.
func TestFollowerWorldStreams(t *testing.T) {
	t.Parallel()
	const worlds = 4
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := Options{Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
			if seed%2 == 1 {
				o.Envoy = &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}
			}
			followWorld(t, 20+seed, o, loadObjects(t, "effects.yaml", "effects-stream.yaml", "follower-streams.yaml"))
		})
	}
}

// TestFollowerWorldSets is TestFollowerWorld in which listeners for the connections of HTTPProxies come and go.
func TestFollowerWorldSets(t *testing.T) {
	t.Parallel()
	for seed := range 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 17))
			more := loadStreams(t)
			world := append(loadWorld(t), more...)
			o := Options{AllowEmpty: true, Envoy: &EnvoyOptions{ModulePath: "w", Served: &Served{Together: true}}}
			if seed%2 == 1 {
				o.Envoy = &EnvoyOptions{ModulePath: "w", Admin: NoAdmin, Served: &Served{}}
			}
			f := newFollower(t, o)
			applyWorld(t, "without", f, world, world, o)
			for round := range sized(20, 160) {
				object := more[random.IntN(len(more))]
				if random.IntN(3) == 0 {
					object = world[random.IntN(len(world))]
				}
				object.edit(random)
				name := fmt.Sprintf("round %d: %s gone=%t", round, object.name, object.gone)
				applyWorld(t, name, f, world, []*worldObject{object}, o)
				if t.Failed() {
					t.Fatal(object.text)
				}
			}
		})
	}
}
