package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// trustingPolicy issues tokens over TLS only.
const trustingPolicy = `
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: tls, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: app}]
  issueOn: TLS
`

// TestTrustedProxies: behind a proxy that ends TLS, tokens that are for TLS only are issued where the Gateway names the
// proxy's address; nobody else is believed, whatever the headers say.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	documents := harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods"))
	documents.More = trustingPolicy
	documents.Port = harness.FreePort(t)
	documents.Raw = strings.Replace(documents.YAML(t), "metadata: {name: edge, namespace: default}",
		`metadata: {name: edge, namespace: default, annotations: {limpet.dev/trusted-proxies: "127.0.0.2/32, 127.0.1.0/24"}}`, 1)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	for _, c := range []struct {
		peer, proto string
		issued      bool
	}{
		{"127.0.0.2", "https", true},
		{"127.0.1.77", "https", true},
		{"127.0.0.2", "http", false},
		{"127.0.0.2", "", false},
		{"127.0.0.1", "https", false},
		{"127.0.0.3", "https", false},
	} {
		header := sendFrom(t, c.peer, envoy.Port, c.proto)
		if issued := header.Get("Set-Cookie") != ""; issued != c.issued {
			t.Errorf("a token for %q from %s: %t, want %t", c.proto, c.peer, issued, c.issued)
		}
	}
}

// TestProxyProtocol: where the Gateway's proxies speak the PROXY protocol, the port of theirs that a client connected to says
// whether it used TLS. Whoever else speaks it is not answered, and neither is one of them that does not.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	documents := harness.OneRoute(harness.Backends(t, "a", "b"), harness.CookieRule("cart", "pods"))
	documents.More = trustingPolicy
	documents.Port = harness.FreePort(t)
	documents.Raw = strings.Replace(documents.YAML(t), "metadata: {name: edge, namespace: default}",
		`metadata: {name: edge, namespace: default, annotations: {limpet.dev/trusted-proxies: 127.0.0.2/32, limpet.dev/proxy-protocol: "443, 8443"}}`, 1)
	envoy := harness.Run(t, harness.Deployment{Documents: documents})
	for _, c := range []struct {
		peer, port string // of the proxy; no port is no PROXY protocol
		proto      string
		answered   bool
		issued     bool
	}{
		{"127.0.0.2", "443", "", true, true},
		{"127.0.0.2", "8443", "", true, true},
		{"127.0.0.2", "80", "", true, false},
		{"127.0.0.2", "80", "https", true, false},
		{"127.0.0.2", "443", "http", true, true},
		{"127.0.0.2", "", "https", false, false},
		{"127.0.0.1", "443", "https", false, false},
		{"127.0.0.1", "", "https", false, false},
	} {
		answer, answered := sendProxied(t, c.peer, c.port, envoy.Port, c.proto)
		if issued := strings.Contains(strings.ToLower(answer), "set-cookie: cart="); answered != c.answered || issued != c.issued {
			t.Errorf("%s to port %q with %q: answered %t and a token %t, want %t and %t", c.peer, c.port, c.proto, answered, issued, c.answered, c.issued)
		}
	}
}

// sendProxied sends a request as a proxy does, for a client that connected to a port of it, and gives the answer as it is.
func sendProxied(t *testing.T, peer, proxyPort string, port int, proto string) (answer string, answered bool) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}, Timeout: 5 * time.Second}
	connection, err := dialer.Dial("tcp", harness.Loopback(port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	text := "GET /cart HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
	if proto != "" {
		text += "x-forwarded-proto: " + proto + "\r\n"
	}
	if proxyPort != "" {
		text = "PROXY TCP4 198.51.100.7 203.0.113.9 51000 " + proxyPort + "\r\n" + text
	}
	if _, err := connection.Write([]byte(text + "\r\n")); err != nil {
		return "", false
	}
	if err := connection.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(connection) // a connection that is reset has no answer
	return string(got), strings.HasPrefix(string(got), "HTTP/1.1 200 ")
}

// sendFrom sends a request from an address of the loopback, for a client elsewhere that used a protocol; it gives the
// response's headers.
func sendFrom(t *testing.T, peer string, port int, proto string) http.Header {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(peer)}}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       dialer.DialContext,
	}}
	request, err := http.NewRequest(http.MethodGet, "http://"+harness.Loopback(port)+"/cart", nil)
	if err != nil {
		t.Fatal(err)
	}
	if proto != "" {
		request.Header.Set("X-Forwarded-Proto", proto)
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	return answer.Header
}
