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

// ServeTLS makes every listener of the tree serve TLS only, with this certificate.
func (tree Tree) ServeTLS(t testing.TB, certificate Certificate) {
	t.Helper()
	chains := tree.Find(func(m map[string]any) bool { _, ok := m["filters"].([]any); return ok })
	if len(chains) == 0 {
		t.Fatal("the Envoy configuration has no filter chain")
	}
	for _, chain := range chains {
		chain["transport_socket"] = map[string]any{
			"name": "envoy.transport_sockets.tls",
			"typed_config": map[string]any{
				"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
				"common_tls_context": map[string]any{"tls_certificates": []any{map[string]any{
					"certificate_chain": map[string]any{"inline_string": certificate.Chain},
					"private_key":       map[string]any{"inline_string": certificate.Key},
				}}},
			},
		}
	}
}

// TLS makes the client speak HTTPS and trust this certificate only.
func (c *Client) TLS(t testing.TB, certificate Certificate) *Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(certificate.Chain)) {
		t.Fatal("not a PEM certificate")
	}
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	c.base = "https://" + c.base[len("http://"):]
	return c
}
