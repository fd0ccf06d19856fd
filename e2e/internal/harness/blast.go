package harness

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/load"
)

// Head is a response's head as it came.
type Head = load.Head

// Blast sends count requests without bodies as fast as Envoy answers, as load.Blast does.
func (e *Envoy) Blast(t testing.TB, count int, request func(i int, buf []byte) []byte, check func(i int, head Head)) {
	t.Helper()
	if err := load.Blast(Loopback(e.Port), count, request, check); err != nil {
		t.Fatal(err)
	}
}
