package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// contourRoutes are HTTPProxies with all that Contour's routes say of requests besides where they go, behind the Gateway's sessions.
const contourRoutes = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: routes, namespace: default}
spec:
  virtualhost: {fqdn: routes.example.com, corsPolicy: {allowOrigin: ["https://shop.example.com"], allowMethods: [PUT], maxAge: 7s}}
  routes:
  - services: [{name: pods, port: 80}, {name: mirror, port: 80, mirror: true}]
  - {conditions: [{prefix: /old}], services: [{name: pods, port: 80}], pathRewritePolicy: {replacePrefix: [{replacement: /new/}]}}
  - {conditions: [{prefix: /gone/}], services: [{name: pods, port: 80}], pathRewritePolicy: {replacePrefix: [{replacement: /}]}}
  - {conditions: [{prefix: /moved}], requestRedirectPolicy: {hostname: other.example.com, prefix: /there}}
  - {conditions: [{prefix: /host}], services: [{name: pods, port: 80, slowStartPolicy: {window: 1s}, requestHeadersPolicy: {set: [{name: Host, value: own.example.com}]}}]}
  - {conditions: [{prefix: /again}], services: [{name: weak, port: 80}], retryPolicy: {count: 3, retryOn: [gateway-error]}}
  - {conditions: [{prefix: /once}], services: [{name: weak, port: 80}], retryPolicy: {count: 3, retryOn: [connect-failure]}}
  - {conditions: [{prefix: /tls}], services: [{name: secure, port: 80, validation: {caSecret: authorities, subjectName: pods.example.com}}]}
  - {conditions: [{prefix: /other}], services: [{name: secure, port: 80, validation: {caSecret: authorities, subjectName: other.example.com}}]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: secured, namespace: default}
spec:
  virtualhost: {fqdn: secured.example.com, tls: {secretName: https-0}}
  routes:
  - services: [{name: pods, port: 80}]
  - {conditions: [{prefix: /open}], services: [{name: pods, port: 80}], permitInsecure: true}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: hosts, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [hosts.example.com]
  rules:
  - filters: [{type: URLRewrite, urlRewrite: {hostname: rule.example.com}}]
    backendRefs:
    - {name: left, port: 80, filters: [{type: URLRewrite, urlRewrite: {hostname: left.example.com}}]}
    - {name: right, port: 80}
  - {matches: [{path: {value: /outside}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: outside}]}
  - {matches: [{path: {value: /unlike}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: unlike}]}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: outside, namespace: default}
spec:
  type: ExternalHostname
  port: {number: %[1]d}
  externalHostname: {hostname: localhost}
  tls: {mode: ServerOnly, validation: {hostname: pods.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: authorities}]}}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: unlike, namespace: default}
spec:
  type: ExternalHostname
  port: {number: %[1]d}
  externalHostname: {hostname: localhost}
  tls: {mode: ServerOnly, validation: {hostname: other.example.com, caCertificateRefs: [{group: "", kind: ConfigMap, name: authorities}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: authorities, namespace: default}
stringData: {ca.crt: %[2]q}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: authorities, namespace: default}
data: {ca.crt: %[2]q}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: edge, namespace: default}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: edge}], cookie: {secure: false}}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: none, namespace: default}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: hosts}], disabled: true}
`

// TestContourRoutes: what HTTPProxies say of paths, hosts, retries, copies, redirects and TLS is done, and sessions stay through it; so
// does a Host for one backend of an HTTPRoute, and TLS to a host outside that an XBackend names.
//
// requirements: S55, S83
func TestContourRoutes(t *testing.T) {
	t.Parallel()
	site, host := harness.NewCertificate(t, "secured.example.com"), harness.NewCertificate(t, "pods.example.com")
	mirror, weak := harness.NewBackend(t, "mirror"), harness.Backends(t, "declines", "serves")
	secure := harness.NewTLSBackend(t, "secure", host, harness.Certificate{})
	documents := harness.OneRoute(harness.Backends(t, "a", "b", "c"), harness.PlainRule("plain", "pods"))
	for name, backends := range map[string][]*harness.Backend{
		"mirror": {mirror}, "weak": weak, "secure": {secure},
		"left": harness.Backends(t, "left"), "right": harness.Backends(t, "right"),
	} {
		documents.Services = append(documents.Services, harness.Service{Name: name, Backends: backends})
	}
	documents.Routes[0].Hostnames = []string{"plain.example.com"}
	documents.Sites = []harness.Site{{Certificate: site}}
	documents.More = fmt.Sprintf(contourRoutes, secure.Port(), host.Chain)
	envoy := harness.Run(t, harness.Deployment{Documents: documents, Flags: []string{"--external-names", "localhost"}})
	weak[0].Break(harness.FaultDeclines)

	t.Run("copies", func(t *testing.T) { checkContourCopies(t, envoy, mirror) })
	t.Run("CORS", func(t *testing.T) { checkContourCORS(t, envoy) })
	t.Run("paths and hosts", func(t *testing.T) { checkContourPaths(t, envoy) })
	t.Run("redirects", func(t *testing.T) { checkContourRedirects(t, envoy, site) })
	t.Run("retries", func(t *testing.T) { checkContourRetries(t, envoy) })
	t.Run("TLS", func(t *testing.T) { checkVerifiedHosts(t, envoy) })
	t.Run("hosts of backends", func(t *testing.T) { checkBackendHosts(t, envoy) })
}

// newClientOf gives a client that asks for a host.
func newClientOf(envoy *harness.Envoy, host string) *harness.Client {
	client := envoy.Client()
	client.Host = host
	return client
}

func checkContourPaths(t *testing.T, envoy *harness.Envoy) {
	client := newClientOf(envoy, "routes.example.com")
	for path, want := range map[string]string{
		"/old": "/new", "/old/": "/new/", "/old/a?b=/old": "/new/a?b=/old", "/older": "/newer",
		"/gone": "/", "/gone/": "/", "/gone/a/b": "/a/b", "/gone//evil.com": "/evil.com", "/host/a": "/host/a", "/a": "/a",
	} {
		stay(t, client, path, 4)
		r := visit(t, client, path)
		if r.Seen.URI != want {
			t.Errorf("%s: the backend sees %s, want %s", path, r.Seen.URI, want)
		}
		own := path == "/host/a"
		if got := r.Seen.Host; (got == "own.example.com") != own {
			t.Errorf("%s: the backend sees the host %s", path, got)
		}
	}
}

// checkContourCORS asks as a browser does.
func checkContourCORS(t *testing.T, envoy *harness.Envoy) {
	for origin, want := range map[string]string{"https://shop.example.com": "https://shop.example.com", "https://other.example.com": ""} {
		r := newClientOf(envoy, "routes.example.com").Do(t, http.MethodOptions, "/a", "Origin: "+origin, "Access-Control-Request-Method: PUT")
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != want || r.Header.Get("Access-Control-Max-Age") != "7" {
			t.Errorf("pages of %s get %v", origin, r.Header)
		}
	}
}

func checkContourCopies(t *testing.T, envoy *harness.Envoy, mirror *harness.Backend) {
	before, client := mirror.Requests(), newClientOf(envoy, "routes.example.com")
	visit(t, client, "/older") // begins a session of another rule, whose cookie is for all paths
	stay(t, client, "/", 10)
	eventually(t, "there are copies of all", func() bool { return mirror.Requests() >= before+10 })
	if mirror.Got("Cookie") || mirror.Got("X-Limpet-Pin") {
		t.Error("a mirror got a token or a pin")
	}
}

// checkContourRedirects wants a route's own redirect, and clients without TLS at the door of a host with a certificate, unless a route
// permits them. No session begins there.
func checkContourRedirects(t *testing.T, envoy *harness.Envoy, site harness.Certificate) {
	for _, c := range []struct {
		host, path, to string
		status         int
	}{
		{"routes.example.com", "/moved/a?b", "http://other.example.com:%d/there/a?b", http.StatusFound},
		{"secured.example.com", "/a?b", "https://secured.example.com/a?b", http.StatusMovedPermanently},
	} {
		r := newClientOf(envoy, c.host).Get(t, c.path)
		want := c.to
		if c.status == http.StatusFound {
			want = fmt.Sprintf(c.to, envoy.Port)
		}
		if got := r.Header.Get("Location"); r.Status != c.status || got != want || r.Header["Set-Cookie"] != nil {
			t.Errorf("%s%s: %d to %q with %q, want %q", c.host, c.path, r.Status, got, r.Header["Set-Cookie"], want)
		}
	}
	stay(t, newClientOf(envoy, "secured.example.com"), "/open/a", 4)
	stay(t, envoy.Client().TLS(site, envoy.TLSPort).For("secured.example.com"), "/a", 4)
}

func checkContourRetries(t *testing.T, envoy *harness.Envoy) {
	declined := 0
	for range 12 {
		client := newClientOf(envoy, "routes.example.com")
		if got := visit(t, client, "/again").Backend; got != "serves" {
			t.Errorf("/again: %s answered", got)
		}
		if newClientOf(envoy, "routes.example.com").Get(t, "/once").Status == http.StatusServiceUnavailable {
			declined++
		}
	}
	if declined == 0 {
		t.Error("/once: a 503 was tried again, which retryOn does not name")
	}
}

func checkVerifiedHosts(t *testing.T, envoy *harness.Envoy) {
	for host, paths := range map[string][]string{"routes.example.com": {"/tls", "/other"}, "hosts.example.com": {"/outside", "/unlike"}} {
		stay(t, newClientOf(envoy, host), paths[0], 4)
		if r := newClientOf(envoy, host).Get(t, paths[1]); r.Status != http.StatusServiceUnavailable || r.Backend != "" {
			t.Errorf("%s: a host with another name in its certificate answered %d", paths[1], r.Status)
		}
	}
}

func checkBackendHosts(t *testing.T, envoy *harness.Envoy) {
	met := map[string]string{}
	for range 24 {
		r := newClientOf(envoy, "hosts.example.com").Get(t, "/")
		met[r.Backend] = r.Seen.Host
	}
	if met["left"] != "left.example.com" || met["right"] != "rule.example.com" {
		t.Errorf("the backends see the hosts %v", met)
	}
}
