package behaviour

import (
	"fmt"
	"testing"
	"time"
)

// wait begins a request that gets no response.
func (w *world) wait() stream {
	w.t.Helper()
	s := w.plugin.open("r", "c")
	_, err := s.request([][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "shop.example"}, {":scheme", "https"}})
	w.check(err)
	return s
}

// TestCountsWhileRequestsWait: what is counted while others wait for their responses shows with the next second's first request.
func TestCountsWhileRequestsWait(t *testing.T) {
	eachTravelling(t, config(), func(t *testing.T, w *world) {
		defer w.wait().close()
		for range 21 {
			w.get()
		}
		w.change(config(`"idleTimeout":"1h"`))
		w.get()
		w.pass(time.Second)
		defer w.wait().close()
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
		one.close()
		_, err := other.response([][2]string{{":status", "200"}}, "via_upstream", false)
		w.check(err)
		for i := range policies {
			w.counted(fmt.Sprintf("p%d new", i), 3)
		}
		other.close()
	})
}
