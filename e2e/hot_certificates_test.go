package e2e

import (
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestHotCertificates changes the certificate of a listener and adds another listener to its port while sessions are in
// use: new connections are shown the new certificate, no request fails and no session moves.
func TestHotCertificates(t *testing.T) {
	t.Parallel()
	const drain = 8 * time.Second // clients of HTTP/2 get 5 s between Envoy's two words of farewell
	old, renewed, shop := harness.NewCertificate(t), harness.NewCertificate(t), harness.NewCertificate(t, "shop.example.com")
	documents := harness.OneRoute(harness.Backends(t, "a", "b", "c"), harness.CookieRule("cart", "pods"))
	documents.Sites, documents.TLSPort = []harness.Site{{Certificate: old}}, harness.FreePort(t)
	watching := harness.RunDraining(t, drain, documents, harness.NewRing("first"))
	clients := harness.NewClients(t, 12, func(i int) func() (harness.Response, error) {
		client := watching.Client().TLS(old, documents.TLSPort).Trust(renewed)
		if i%2 == 1 {
			client.HTTP2()
		}
		return harness.Getter(client, "/cart", quietly)
	})
	clients.Every = 10 * time.Millisecond
	tally := clients.During(func() {
		watching.Set(t, func(d *harness.Documents) { d.Sites[0].Certificate = renewed })
		wantShown(t, documents.TLSPort, "", renewed)
		watching.Set(t, func(d *harness.Documents) {
			d.Sites = append(d.Sites, harness.Site{Hostname: "shop.example.com", Certificate: shop})
		})
		wantShown(t, documents.TLSPort, "shop.example.com", shop)
		wantShown(t, documents.TLSPort, "other.example.com", renewed)
		time.Sleep(drain) // under load all the while
		eventually(t, "what the old certificates were for has closed", func() bool { return draining(t, watching.AdminPort) == "" })
	})
	if tally.Failed() > 0 || tally.Moved() > 0 {
		t.Errorf("%v", tally)
	}
	harness.RecordResult(t, "certificates renewed (limpet run)", harness.Result{
		Requests: tally.Requests, Sessions: clients.Size(), Changes: 2, Lost: tally.Moved(), Errors: tally.Failed(),
	})
}

// draining gives the counters of listeners and chains of filters that Envoy is about to close, those that are not 0.
func draining(t *testing.T, adminPort int) string {
	t.Helper()
	response, err := http.Get("http://" + harness.Loopback(adminPort) + "/stats?usedonly&filter=listener_manager.total_.*draining")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(strings.TrimSpace(line), ": 0") {
			left = append(left, line)
		}
	}
	return strings.Join(left, "")
}

// wantShown waits until clients that ask for a server name are shown a certificate.
func wantShown(t *testing.T, port int, name string, want harness.Certificate) {
	t.Helper()
	eventually(t, "the certificate for "+name+" is shown", func() bool {
		shown := handshake(t, port, name, "h2").PeerCertificates[0]
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Raw})) == want.Chain
	})
}
