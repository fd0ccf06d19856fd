package harness

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"
)

// Certificate is a self-signed certificate and its key, as PEM.
type Certificate struct{ Chain, Key string }

// NewCertificate makes a certificate that is good for an hour, for these hosts besides 127.0.0.1.
func NewCertificate(t testing.TB, hosts ...string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return NewCertificateFor(t, key, hosts...)
}

// NewCertificateFor is NewCertificate for a key of any kind.
func NewCertificateFor(t testing.TB, key crypto.Signer, hosts ...string) Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		DNSNames:     hosts,
	}
	chain, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate{
		Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain})),
		Key:   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
}

func (c Certificate) pool() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.Chain))
	return roots
}

// TLS makes the client speak HTTPS to that port and trust this certificate only.
func (c *Client) TLS(certificate Certificate, port int) *Client {
	c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{
		RootCAs:    certificate.pool(),
		MinVersion: tls.VersionTLS12,
	}
	c.base = "https://" + Loopback(port)
	return c
}

// Trust makes the client trust another certificate too; call it after TLS.
func (c *Client) Trust(certificate Certificate) *Client {
	c.http.Transport.(*http.Transport).TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(certificate.Chain))
	return c
}

// Show makes the client show a certificate when it is asked for one; call it after TLS.
func (c *Client) Show(t testing.TB, certificate Certificate) *Client {
	t.Helper()
	c.http.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{certificate.pair(t)}
	return c
}

func (c Certificate) pair(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair([]byte(c.Chain), []byte(c.Key))
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// NewTLSBackend starts a backend that ends TLS, for clients with a certificate of their own alone, or for any if that
// is empty.
func NewTLSBackend(t testing.TB, name string, certificate, client Certificate) *Backend {
	t.Helper()
	listener := listenAnywhere(t)
	b := &Backend{Name: name, Address: listener.Addr().String(), names: map[string]bool{}}
	server := newServer(b)
	server.ErrorLog = log.New(io.Discard, "", 0)
	b.server = server
	config := &tls.Config{Certificates: []tls.Certificate{certificate.pair(t)}, MinVersion: tls.VersionTLS12}
	if client.Chain != "" {
		config.ClientCAs, config.ClientAuth = client.pool(), tls.RequireAndVerifyClientCert
	}
	secured := tls.NewListener(listener, config)
	go func() { _ = server.Serve(secured) }() // returns when the listener is closed
	t.Cleanup(b.Close)
	return b
}

// For makes the client ask for a host, by the server name and the Host header; call it after TLS.
func (c *Client) For(host string) *Client {
	c.Host = host
	c.http.Transport.(*http.Transport).TLSClientConfig.ServerName = host
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
