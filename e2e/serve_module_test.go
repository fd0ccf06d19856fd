package e2e

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestServeModule: Envoys fetch limpet.wasm from limpet serve. Where it can't be had, or is another than it should be, routes with sessions
// answer 503, for without it anybody's pin would be followed, and all others go on.
func TestServeModule(t *testing.T) {
	t.Parallel()
	pods := harness.Backends(t, "a", "b", "c")
	modules := harness.Loopback(harness.FreePort(t))
	documents := harness.OneRoute(pods, harness.CookieRule("cart", "pods"), harness.PlainRule("plain", "pods"))
	s := harness.Serve(t, documents, harness.NewRing("k"), "--wasm-listen", modules)

	t.Run("fetched", func(t *testing.T) {
		envoy := s.Bootstrap(t, "--wasm-server", modules).Start(t)
		client := envoy.Client()
		stay(t, client, "/cart", 10)
	})
	t.Run("fetched over TLS", func(t *testing.T) {
		authority, folder, own := harness.NewAuthority(t), t.TempDir(), harness.Loopback(harness.FreePort(t))
		authority.Issue(t, folder, "server", "localhost", "")
		authority.Issue(t, folder, "edge", "", "spiffe://limpet/ns/default/gateway/edge")
		file := func(name string) string { return filepath.Join(folder, name) }
		s := harness.Serve(t, harness.OneRoute(pods, harness.CookieRule("cart", "pods")), harness.NewRing("k"), "--wasm-listen", own,
			"--tls-cert", file("server.crt"), "--tls-key", file("server.key"), "--tls-ca", file("server-ca.crt"))
		envoy := s.Bootstrap(t, "--tls-cert", file("edge.crt"), "--tls-key", file("edge.key"), "--tls-ca", file("edge-ca.crt"),
			"--server-name", "localhost", "--wasm-server", own).Start(t)
		stay(t, envoy.Client(), "/cart", 10)
	})
	answers := func(t *testing.T, server string) {
		t.Helper()
		envoy := s.Bootstrap(t, "--wasm-server", server).Start(t)
		eventually(t, "the routes without sessions are served", func() bool {
			r, err := envoy.Client().Try("GET", "/plain")
			return err == nil && r.Status == http.StatusOK
		})
		for range 5 {
			r, err := envoy.Client().Try("GET", "/cart", "x-limpet-pin: "+pods[0].Address)
			if err != nil || r.Status != http.StatusServiceUnavailable {
				t.Errorf("a route with sessions: status %d from %q, %v", r.Status, r.Backend, err)
			}
		}
	}
	t.Run("nothing there", func(t *testing.T) { answers(t, harness.Loopback(harness.FreePort(t))) })
	t.Run("another module", func(t *testing.T) {
		at, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		other := &http.Server{Protocols: &http.Protocols{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("\x00asm\x01\x00\x00\x00"))
		})}
		other.Protocols.SetUnencryptedHTTP2(true)
		go func() { _ = other.Serve(at) }()
		defer func() { _ = other.Close() }()
		answers(t, at.Addr().String())
	})
}
