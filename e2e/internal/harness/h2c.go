package harness

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// NewH2CBackend starts a backend that speaks HTTP/2 without TLS and nothing else, as gRPC servers do; it refuses
// HTTP/1.1.
func NewH2CBackend(t testing.TB, name string) *Backend {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("backend %s: %v", name, err)
	}
	b := &Backend{Name: name, Address: listener.Addr().String(), names: map[string]bool{}}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	b.server = server
	go func() { _ = server.Serve(listener) }() // returns when the listener is closed
	t.Cleanup(b.Close)
	return b
}
