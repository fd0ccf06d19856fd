package behaviour

import (
	"fmt"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/token"
)

// within is a configuration whose sessions stay in their backend, and tagOf what the metadata of a backend's hosts has.
func within(fields ...string) string {
	return config(append([]string{`"onHostLost":"RebalanceWithin"`}, fields...)...)
}

func tagOf(backend string) string { return fmt.Sprintf("%08x", token.BackendTag(backend)) }

// eachSplit runs the test on every build that can be shown hosts of two backends.
func eachSplit(t *testing.T, config string, test func(t *testing.T, w *world)) {
	t.Helper()
	each(t, config, func(t *testing.T, w *world) {
		if _, real := w.Filter.(realProxy); real {
			t.Skip("package e2e has a split on a real Envoy")
		}
		w.hosts = []string{"10.0.0.1:8080", "10.0.1.1:8080", "10.0.0.2:8080", "10.0.1.2:8080"}
		w.Backends = map[string]string{
			"10.0.0.1:8080": tagOf("blue"), "10.0.0.2:8080": tagOf("blue"),
			"10.0.1.1:8080": tagOf("green"), "10.0.1.2:8080": tagOf("green"),
		}
		test(t, w)
	})
}

// TestLostHostRebalancesWithin: the session goes to another host of its backend while there is one, and then to any; its
// token names the backend that it came to.
func TestLostHostRebalancesWithin(t *testing.T) {
	eachSplit(t, within(), func(t *testing.T, w *world) {
		home := w.get().host
		want(t, "backend", w.openParts().Backend, token.BackendTag("blue"))
		w.hosts = without1(w.hosts, home)
		for range 3 { // wherever the balancer's turn is
			want(t, "host after the first loss", w.get().host, "10.0.0.2:8080")
		}
		w.counted("p moved", 1)
		w.hosts = without1(w.hosts, "10.0.0.2:8080")
		moved := w.get().host
		want(t, "backend after both losses", w.Backends[moved], tagOf("green"))
		want(t, "backend in the token", w.openParts().Backend, token.BackendTag("green"))
		w.counted("p moved", 2)
	})
}

// TestSessionGetsItsBackend: that began before the policy said so, with the next answer, and once. Where hosts have no
// backend it stays as it is.
func TestSessionGetsItsBackend(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, config(), start)
		if _, real := w.Filter.(realProxy); real {
			t.Skip("package e2e has a split on a real Envoy")
		}
		home := w.get().host
		want(t, "backend", w.openParts().Backend, 0)
		w.restart(within(), start, ringA)
		want(t, "tokens where hosts have no backend", len(w.get().setCookies()), 0)
		w.Backends = map[string]string{home: tagOf("blue")}
		r := w.get()
		want(t, "host", r.host, home)
		want(t, "tokens", len(r.setCookies()), 1)
		want(t, "backend in it", w.openParts().Backend, token.BackendTag("blue"))
		want(t, "tokens afterwards", len(w.get().setCookies()), 0)
		for _, tag := range []string{"0123456", "0123456G", "0123456A", "012345678"} {
			w.cookies, w.Backends = map[string]string{}, map[string]string{}
			for _, host := range w.hosts {
				w.Backends[host] = tag
			}
			w.get()
			want(t, "backend by the metadata "+tag, w.openParts().Backend, 0)
		}
	})
}

// TestOnlyPinnedSessionsNameABackend: a request without a session, or with one that is over, names none, and neither does one
// of a policy that does not say so.
func TestOnlyPinnedSessionsNameABackend(t *testing.T) {
	for _, tt := range []struct {
		config string
		named  bool
	}{{within(`"absoluteTimeout":"100s"`), true}, {config(`"absoluteTimeout":"100s"`), false}} {
		eachSplit(t, tt.config, func(t *testing.T, w *world) {
			var named bool
			note := func() {
				s := w.open("r", "c")
				defer s.Close()
				sent, _, err := s.RequestHeaders([][2]string{{":method", "GET"}, {"cookie", w.cookieLine()}}, true)
				w.noError(err)
				_, named = first(sent, backendHeader)
			}
			note()
			want(t, "named by a stranger", named, false)
			w.get()
			note()
			want(t, "named by a session", named, tt.named)
			w.pass(100 * time.Second)
			note()
			want(t, "named by a session that is over", named, false)
		})
	}
}

// TestReusedHostStaysWithin: a session whose host's address has passed to another pod is over, and its client is balanced again,
// but within the backend while that has hosts. An answer that begins no session takes the void token away, so that the next
// request may go to any.
func TestReusedHostStaysWithin(t *testing.T) {
	eachBuild(t, func(t *testing.T, start start) {
		w := newWorld(t, within(), start)
		if _, real := w.Filter.(realProxy); real {
			t.Skip("package e2e has a split on a real Envoy")
		}
		const home, neighbour, other = "10.0.0.1:8080", "10.0.0.2:8080", "10.0.1.1:8080"
		w.hosts = []string{home, other, neighbour}
		w.Backends = map[string]string{home: tagOf("blue"), neighbour: tagOf("blue"), other: tagOf("green")}
		want(t, "host", w.get().host, home)
		old := w.cookies["sid"]
		list := `"owners":["` + ownedByPod(home, "new").String() + `"]`
		w.restart(within(list), start, ringA)
		for range 4 { // wherever the balancer's turn is
			w.cookies["sid"] = old
			r := w.get()
			want(t, "backend after the pod has gone", w.Backends[r.host], tagOf("blue"))
			want(t, "tokens", len(r.setCookies()), 1)
			want(t, "backend in the new one", w.openParts().Backend, token.BackendTag("blue"))
		}
		w.counted("p host-reused", 4)

		w.cookies["sid"] = old
		w.Details, w.Answer = "upstream_reset_before_response_started{connection_failure}", func(string, [][2]string) [][2]string {
			return [][2]string{{":status", "503"}}
		}
		w.get()
		_, kept := w.cookies["sid"]
		want(t, "the void token is kept when no host answers", kept, false)
		w.Details, w.Answer = "", nil

		w.cookies["sid"] = old
		w.hosts = []string{other}
		want(t, "host when the backend is gone", w.get().host, other)
		want(t, "backend in that token", w.openParts().Backend, token.BackendTag("green"))
	})
}
