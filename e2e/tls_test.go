package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestSites: each HTTPS listener of a port has its own certificate and server name, sessions hold over it, and a
// request on another listener's connection is sent away (S69, S71).
//
// requirements: S69, S71
func TestSites(t *testing.T) {
	t.Parallel()
	shop, wild := harness.NewCertificate(t, "shop.example.com"), harness.NewCertificate(t, "*.example.com", "shop.example.com")
	_, deployment := threePods(t, harness.CookieRule("__Host-cart", "pods"))
	deployment.Documents.Sites = []harness.Site{{Hostname: "shop.example.com", Certificate: shop}, {Hostname: "*.example.com", Certificate: wild}}
	deployment.Flags = []string{"--admin=all"}
	envoy := harness.Run(t, deployment)
	const path = "/__Host-cart"
	for host, certificate := range map[string]harness.Certificate{"shop.example.com": shop, "news.example.com": wild} {
		for _, client := range []*harness.Client{
			envoy.Client().TLS(certificate, envoy.TLSPort).For(host),
			envoy.Client().TLS(certificate, envoy.TLSPort).For(host).HTTP2(),
		} {
			if cookie := wantToken(t, visit(t, client, path), "__Host-cart"); !cookie.Secure || cookie.Path != "/" || cookie.Domain != "" {
				t.Errorf("%s: the browser drops this cookie: %s", host, cookie.Raw)
			}
			stay(t, client, path, 20)
		}
	}
	for sni, statuses := range map[string]map[string]int{
		"shop.example.com": {"news.example.com": 421, "elsewhere.example.org": 404},
		"news.example.com": {"shop.example.com": 421, "other.example.com": 200},
	} {
		for host, want := range statuses {
			client := envoy.Client().TLS(map[bool]harness.Certificate{true: shop, false: wild}[sni == "shop.example.com"], envoy.TLSPort).For(sni)
			client.Host = host
			if got := client.Get(t, path); got.Status != want {
				t.Errorf("%s on a connection for %s: status %d, want %d", host, sni, got.Status, want)
			}
		}
	}
	if _, err := envoy.Client().TLS(shop, envoy.TLSPort).Try(http.MethodGet, path); err == nil {
		t.Error("a client that asks for no server name was served")
	}
	wantPrivate(t, envoy, shop, wild)
}

// TestSitesShareSessions: each site's routes carry their policies, and the sessions of a rule are the same at all of them.
func TestSitesShareSessions(t *testing.T) {
	t.Parallel()
	shop, wild := harness.NewCertificate(t, "shop.example.com"), harness.NewCertificate(t, "*.example.com")
	var rules []harness.Rule
	for i := range 16 {
		rules = append(rules, harness.CookieRule(fmt.Sprintf("__Host-cart%d", i), "pods"))
	}
	_, deployment := threePods(t, rules...)
	deployment.Documents.Sites = []harness.Site{{Hostname: "shop.example.com", Certificate: shop}, {Hostname: "*.example.com", Certificate: wild}}
	envoy := harness.Run(t, deployment)
	config, err := os.ReadFile(filepath.Join(envoy.Dir, "envoy.yaml"))
	if got := strings.Count(string(config), `"sessionName":"__Host-cart7"`); err != nil || got != 1+len(deployment.Documents.Sites) {
		t.Errorf("a session's name stands in envoy.yaml %d times, not once for plain HTTP and each site; %v", got, err)
	}
	for host, certificate := range map[string]harness.Certificate{"shop.example.com": shop, "news.example.com": wild} {
		for _, name := range []string{"__Host-cart0", "__Host-cart15"} {
			client := envoy.Client().TLS(certificate, envoy.TLSPort).For(host)
			wantToken(t, visit(t, client, "/"+name), name)
			stay(t, client, "/"+name, 10)
		}
	}
}

// wantPrivate fails if a private key is anywhere but in the one file, which is its owner's alone.
func wantPrivate(t *testing.T, envoy *harness.Envoy, certificates ...harness.Certificate) {
	t.Helper()
	file := filepath.Join(envoy.Dir, "envoy.yaml")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, mode %v", file, err, info.Mode())
	}
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range certificates {
		line := strings.Split(c.Key, "\n")[1]
		if !strings.Contains(string(config), line) {
			t.Error("the private key is not in envoy.yaml, so this test looks for the wrong text")
		}
		for what, text := range map[string]string{
			"limpet's output": envoy.Output, "Envoy's log": envoy.Log(t), "/config_dump": envoy.Admin(t, "/config_dump"), "/certs": envoy.Admin(t, "/certs"),
		} {
			if strings.Contains(text, line) {
				t.Errorf("%s shows a private key", what)
			}
		}
	}
}

// TestCertificateFollowsTheServerName looks at the certificate that clients are shown.
//
// requirements: S70, S71
func TestCertificateFollowsTheServerName(t *testing.T) {
	t.Parallel()
	shop, all := harness.NewCertificate(t, "shop.example.com"), harness.NewCertificate(t)
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	deployment.Documents.Sites = []harness.Site{{Hostname: "shop.example.com", Certificate: shop}, {Certificate: all}}
	envoy := harness.Run(t, deployment)
	for name, want := range map[string]harness.Certificate{"shop.example.com": shop, "x.example.org": all, "": all} {
		for _, protocol := range []string{"h2", "http/1.1"} {
			state := handshake(t, envoy.TLSPort, name, protocol)
			if got := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: state.PeerCertificates[0].Raw})); got != want.Chain {
				t.Errorf("server name %q: the wrong certificate", name)
			}
			if state.NegotiatedProtocol != protocol {
				t.Errorf("server name %q: protocol %q, want %q", name, state.NegotiatedProtocol, protocol)
			}
		}
	}
}

// handshake makes a connection and gives what was agreed on. It takes any certificate: the caller looks at it.
func handshake(t *testing.T, port int, name, protocol string) tls.ConnectionState {
	t.Helper()
	conn, err := tls.Dial("tcp", harness.Loopback(port), &tls.Config{
		ServerName: name, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS12,
		InsecureSkipVerify: true, VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState()
}
