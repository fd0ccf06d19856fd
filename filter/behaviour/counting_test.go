package behaviour

import (
	"fmt"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

// wait begins a request that gets no response.
func (w *world) wait() wasmtest.Exchange {
	w.t.Helper()
	s := w.open("r", "c")
	_, _, err := s.RequestHeaders([][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "shop.example"}, {":scheme", "https"}}, true)
	w.noError(err)
	return s
}

func (w *world) open(route, cluster string) wasmtest.Exchange {
	return carried(w.Filter, route, cluster, "")
}

// TestCountsWhileRequestsWait: what is counted while others wait for their responses shows with the next second's first request.
func TestCountsWhileRequestsWait(t *testing.T) {
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		defer w.wait().Close()
		for range 21 {
			w.get()
		}
		w.change(config(`"idleTimeout":"1h"`))
		w.get()
		w.pass(time.Second)
		defer w.wait().Close()
		w.counted("p new", 1)
		w.counted("p pinned", 21)
	})
}

// TestCountsOnceTheLastHasGone: nothing that was counted is lost, of however many policies, and it shows when no request waits any more.
func TestCountsOnceTheLastHasGone(t *testing.T) {
	const policies = 40
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		one, other := w.wait(), w.wait()
		for i := range policies {
			w.change(configs(policy(fmt.Sprint("p", i), "r")))
			for range 3 {
				clear(w.cookies)
				w.get()
			}
		}
		one.Close()
		other.SetProperty(wasmtest.DetailsProperty, "via_upstream")
		_, err := other.ResponseHeaders([][2]string{{":status", "200"}}, false)
		w.noError(err)
		for i := range policies {
			w.counted(fmt.Sprintf("p%d new", i), 3)
		}
		other.Close()
	})
}
