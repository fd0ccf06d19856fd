package harness

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/load"
)

// NewNullBackend starts a backend for SendLoad: it answers every request without a body with 200, its name and these
// header lines, ignores what the request asks of it, and costs so little that Envoy is what a test measures.
func NewNullBackend(t testing.TB, name string, lines ...string) *Backend {
	t.Helper()
	return newNullBackend(t, name, 0, lines)
}

// NewDroppingBackend is a null backend that closes the connection in place of every so many answers.
func NewDroppingBackend(t testing.TB, name string, every int) *Backend {
	t.Helper()
	return newNullBackend(t, name, every, nil)
}

func newNullBackend(t testing.TB, name string, drops int, lines []string) *Backend {
	t.Helper()
	listener := listenAnywhere(t)
	b := &Backend{Name: name, Address: listener.Addr().String(), server: listener}
	go load.Serve(listener, drops, append([]string{BackendHeader + ": " + name}, lines...)...)
	t.Cleanup(b.Close)
	return b
}

// NewNullBackends starts one null backend for each name.
func NewNullBackends(t testing.TB, names ...string) []*Backend {
	t.Helper()
	var all []*Backend
	for _, name := range names {
		all = append(all, NewNullBackend(t, name))
	}
	return all
}
