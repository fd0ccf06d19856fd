package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// certified deploys three backends that speak TLS with one client alone, the Gateway, and one that does not, behind a rule for the
// three and one that they share with the fourth. The Gateway verifies clients, in a mode.
func certified(t *testing.T, site, client harness.Certificate, mode string) harness.Documents {
	t.Helper()
	host, gateway := harness.NewCertificate(t, "pods.example.com"), harness.NewCertificate(t)
	var pods []*harness.Backend
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, harness.NewTLSBackend(t, name, host, gateway))
	}
	split := harness.Rule{
		Path: "/split", Refs: []harness.Ref{{Service: "pods", Weight: 1}, {Service: "plain", Weight: 1}},
		Session: &harness.Session{Name: "split"},
	}
	d := harness.OneRoute(pods, harness.CookieRule("cart", "pods"), split)
	d.Services = append(d.Services, harness.Service{Name: "plain", Backends: harness.Backends(t, "plain")})
	d.Sites = []harness.Site{{Certificate: site}}
	d.GatewayTLS = fmt.Sprintf(`{backend: {clientCertificateRef: {name: gateway}}, frontend: {default: {validation: {mode: %s, `+
		`caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]}}}}`, mode)
	d.More = strings.Join([]string{
		"apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: pods}\nspec: {" +
			`targetRefs: [{group: "", kind: Service, name: pods}], validation: {hostname: pods.example.com, ` +
			`caCertificateRefs: [{group: "", kind: ConfigMap, name: pods}]}}`,
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pods}\ndata: {ca.crt: %q}", host.Chain),
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clients}\ndata: {ca.crt: %q}", client.Chain),
		fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: gateway}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}",
			gateway.Chain, gateway.Key),
	}, "\n---\n")
	return d
}

// wantSessions wants sessions of a client to begin and stay, over HTTP/1.1 and HTTP/2, on hosts with TLS and without.
func wantSessions(t *testing.T, newClient func() *harness.Client) {
	t.Helper()
	met := map[string]bool{}
	for i := range 16 {
		client := newClient()
		if i%2 == 1 {
			client.HTTP2()
		}
		for _, name := range []string{"cart", "split"} {
			first := visit(t, client, "/"+name, "X-Forwarded-Client-Cert: forged")
			cookie := wantToken(t, first, name)
			if cookie.Path != "/"+name || !cookie.Secure {
				t.Errorf("the cookie of /%s: %s", name, cookie.Raw)
			}
			if forged := first.Seen.Headers["X-Forwarded-Client-Cert"]; forged != nil {
				t.Errorf("a backend sees what the client says of its certificate: %q", forged)
			}
			if stayed := stay(t, client, "/"+name, 6); stayed != first.Backend {
				t.Errorf("/%s: began at %s and went on at %s", name, first.Backend, stayed)
			}
			met[name+" "+first.Backend] = true
		}
	}
	for _, host := range []string{"cart a", "cart b", "cart c", "split plain"} {
		if !met[host] {
			t.Errorf("no session began at %s: %v", host, met)
		}
	}
}

// TestClientCertificates: sessions hold where clients show certificates to the Gateway, and the Gateway to backends. No other
// client gets in, with another certificate or none, and no other Gateway to the backends.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	site, client, other := harness.NewCertificate(t, "shop.example.com"), harness.NewCertificate(t), harness.NewCertificate(t)
	documents := certified(t, site, client, "AllowValidOnly")
	port := harness.FreePort(t)
	documents.More += fmt.Sprintf(`
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: other}
spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: %d}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: other}
spec: {parentRefs: [{name: other}], rules: [{backendRefs: [{name: pods, port: 80}]}]}
`, port)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	wantSessions(t, func() *harness.Client {
		return envoy.Client().TLS(site, envoy.TLSPort).For("shop.example.com").Show(t, client)
	})
	for what, stranger := range map[string]*harness.Client{
		"no certificate": envoy.Client().TLS(site, envoy.TLSPort).For("shop.example.com"),
		"another's":      envoy.Client().TLS(site, envoy.TLSPort).For("shop.example.com").Show(t, other),
	} {
		if r, err := stranger.Try(http.MethodGet, "/cart"); err == nil {
			t.Errorf("a client with %s was served: %d", what, r.Status)
		}
	}
	if r := harness.NewClient(port).Get(t, "/"); r.Status != http.StatusServiceUnavailable {
		t.Errorf("a Gateway without a certificate got %d from hosts that ask for one", r.Status)
	}
	stay(t, envoy.Client(), "/cart", 1) // plain HTTP is not verified
}

// TestInsecureFallback: with it clients get in with a certificate of any sort and without one, and their sessions hold.
func TestInsecureFallback(t *testing.T) {
	t.Parallel()
	site, client, other := harness.NewCertificate(t, "shop.example.com"), harness.NewCertificate(t), harness.NewCertificate(t)
	envoy := harness.Run(t, harness.Deployment{Documents: certified(t, site, client, "AllowInsecureFallback")})
	for _, shown := range []*harness.Certificate{nil, &client, &other} {
		wantSessions(t, func() *harness.Client {
			c := envoy.Client().TLS(site, envoy.TLSPort).For("shop.example.com")
			if shown != nil {
				c.Show(t, *shown)
			}
			return c
		})
	}
}
