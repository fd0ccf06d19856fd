package envoygateway

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const (
	// pinHeader is limpet's internal header.
	pinHeader = "X-Limpet-Pin"
	// backendPort is that of all backends; each has an address of its own.
	backendPort = "8080"
	// tlsPort is that of those that speak TLS too.
	tlsPort = "8443"
)

// backend is a host that answers with its address and with what reached it, and tries to plant a pin of its own.
type backend struct {
	address string

	server *http.Server
	// seen are the Cookie headers of the requests, by their User-Agent.
	seen sync.Map
}

// echo is what a backend answers.
type echo struct {
	Host   string
	Header http.Header
}

// startBackend starts one that speaks HTTP/1.1 and HTTP/2 in the clear, and answers gRPC calls too.
func startBackend(t *testing.T, address string) *backend {
	t.Helper()
	b := &backend{address: address}
	l, err := net.Listen("tcp", net.JoinHostPort(address, backendPort))
	if err != nil {
		t.Fatal(err)
	}
	b.server = &http.Server{Handler: http.HandlerFunc(b.answer), Protocols: new(http.Protocols)}
	b.server.Protocols.SetHTTP1(true)
	b.server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = b.server.Serve(l) }()
	t.Cleanup(func() { _ = b.server.Close() })
	return b
}

// serveTLS has the backend answer in TLS too, with a certificate of no authority.
func (b *backend) serveTLS(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(b.address, tlsPort))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(b.answer))
	_ = server.Listener.Close()
	server.Listener = l
	server.StartTLS()
	t.Cleanup(server.Close)
}

// stop closes the backend's port: connections to it are refused from now on.
func (b *backend) stop() { _ = b.server.Close() }

func (b *backend) answer(w http.ResponseWriter, r *http.Request) {
	b.seen.Store(r.UserAgent(), strings.Join(r.Header["Cookie"], "; "))
	w.Header().Set("X-Backend", b.address)
	w.Header().Set(pinHeader, pinTo("127.0.9.9"))
	if r.Header.Get("Content-Type") == "application/grpc" {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.Header().Set("X-Saw-Pin", r.Header.Get(pinHeader))
		w.WriteHeader(http.StatusOK)
		w.Header().Set("Grpc-Status", "0")
		return
	}
	_ = json.NewEncoder(w).Encode(echo{b.address, r.Header})
}

// pinTo is the pin header's value for a host.
func pinTo(address string) string {
	return base64.StdEncoding.EncodeToString([]byte(net.JoinHostPort(address, backendPort)))
}
