package harness

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/load"
)

// Head is a response's head as it came.
type Head = load.Head

// SendLoad sends count requests without bodies as fast as Envoy answers, as load.Send does.
func (e *Envoy) SendLoad(
	t testing.TB,
	count int,
	request func(i int, buf []byte) []byte,
	check func(i int, head Head),
) {
	t.Helper()
	if err := load.Send(Loopback(e.Port), count, request, check); err != nil {
		t.Fatal(err)
	}
}
