package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Certificate is a self-signed certificate for 127.0.0.1 and its key, as PEM.
type Certificate struct{ Chain, Key string }

// NewCertificate makes a certificate that is good for an hour.
func NewCertificate(t testing.TB) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate{
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})),
	}
}

func (c Certificate) pool() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.Chain))
	return roots
}

// AddTLS gives the tree's listener a twin on another port that serves TLS only, with this certificate,
// and offers HTTP/2 and HTTP/1.1.
func (tree Tree) AddTLS(t testing.TB, certificate Certificate, port int) {
	t.Helper()
	listeners := tree["static_resources"].(map[string]any)["listeners"].([]any)
	if len(listeners) != 1 {
		t.Fatalf("the Envoy configuration has %d listeners, want 1", len(listeners))
	}
	text, err := yaml.Marshal(listeners[0])
	if err != nil {
		t.Fatal(err)
	}
	twin := parseTree(t, text)
	twin["name"] = "tls"
	socket := twin["address"].(map[string]any)["socket_address"].(map[string]any)
	socket["port_value"] = port
	for _, chain := range twin.Find(func(m map[string]any) bool { _, ok := m["filters"].([]any); return ok }) {
		chain["transport_socket"] = downstreamTLS(certificate)
	}
	tree["static_resources"].(map[string]any)["listeners"] = append(listeners, map[string]any(twin))
}

func downstreamTLS(certificate Certificate) map[string]any {
	return map[string]any{
		"name": "envoy.transport_sockets.tls",
		"typed_config": map[string]any{
			"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
			"common_tls_context": map[string]any{
				"alpn_protocols": []any{"h2", "http/1.1"},
				"tls_certificates": []any{map[string]any{
					"certificate_chain": map[string]any{"inline_string": certificate.Chain},
					"private_key":       map[string]any{"inline_string": certificate.Key},
				}},
			},
		},
	}
}

// TLS makes the client speak HTTPS to that port and trust this certificate only.
func (c *Client) TLS(certificate Certificate, port int) *Client {
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: certificate.pool(), MinVersion: tls.VersionTLS12}
	c.base = "https://" + Loopback(port)
	return c
}

// HTTP2 makes the client speak HTTP/2 only, over TLS or else with prior knowledge.
func (c *Client) HTTP2() *Client {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	c.http.Transport.(*http.Transport).Protocols = protocols
	return c
}
