package harness

import (
	"net/http"
	"testing"
	"time"
)

// NewH2CBackend starts a backend that speaks HTTP/2 without TLS and nothing else, as gRPC servers do; it refuses
// HTTP/1.1.
func NewH2CBackend(t testing.TB, name string) *Backend {
	t.Helper()
	listener := listenAnywhere(t)
	b := &Backend{Name: name, Address: listener.Addr().String(), names: map[string]bool{}}
	server := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute, Protocols: new(http.Protocols)}
	server.Protocols.SetUnencryptedHTTP2(true)
	b.server = server
	go func() { _ = server.Serve(listener) }() // returns when the listener is closed
	t.Cleanup(b.Close)
	return b
}
