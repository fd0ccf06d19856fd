package e2e

import (
	"net"
	"net/http"
	"strings"
	"testing"

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
