package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// traffic is a sort of request whose cost is measured: the cookie of request number i, and how many requests make
// one measurement.
type traffic struct {
	name    string
	cookies func(i int) string
	count   int
}

// costWorld is one Envoy under measurement, with sorts of cookies for it.
type costWorld struct {
	envoy *harness.Envoy
	scope string
	pods  []*harness.Backend
}

// newCostWorld starts an Envoy that nothing else slows down: the backends do next to nothing.
func newCostWorld(t *testing.T) costWorld {
	t.Helper()
	pods := harness.NewNullBackends(t, "a", "b", "c")
	envoy := harness.Run(t, harness.Deployment{Documents: harness.OneRoute(pods, harness.CookieRule("cart", "pods"))})
	return costWorld{envoy: envoy, scope: envoy.Policy(t, "cart").Scope, pods: pods}
}

// tokens are different tokens of a ring for the session's scope.
func (w costWorld) tokens(t *testing.T, ring harness.Ring, count int) []string {
	t.Helper()
	var all []string
	for i := range count {
		all = append(all, ring.Mint(t, w.scope, w.pods[i%len(w.pods)].Address, harness.Dates{}))
	}
	return all
}

// perRequest sends one measurement's requests and returns the processor time that Envoy used for each.
func (w costWorld) perRequest(t *testing.T, kind traffic) time.Duration {
	t.Helper()
	before := w.envoy.CPU(t)
	w.envoy.SendLoad(t, kind.count, func(i int, buf []byte) []byte {
		return fmt.Appendf(buf, "GET /cart HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n", kind.cookies(i))
	}, func(i int, head harness.Head) {
		if !head.OK() {
			t.Errorf("%s: request %d: %s", kind.name, i, head)
		}
	})
	return (w.envoy.CPU(t) - before) / time.Duration(kind.count)
}

// A comparison takes at least so many rounds, and gives up after so many.
const (
	fewestRounds = 3
	mostRounds   = 15
)

// wantCheap fails unless a request of each of the kinds costs Envoy at most bound times what one of the other traffic
// does. All are measured in turn and the cheapest round of each counts, for whatever else the machine does only
// adds to it. Rounds go on until that holds: a busy machine makes the test slower, not red.
func (w costWorld) wantCheap(t *testing.T, bound float64, than traffic, kinds ...traffic) {
	t.Helper()
	base, least := time.Hour, make([]time.Duration, len(kinds))
	var ratios []float64
	for round := 1; round <= mostRounds; round++ {
		base = min(base, w.perRequest(t, than))
		ratios = nil
		for i, kind := range kinds {
			cost := w.perRequest(t, kind)
			if least[i] == 0 || cost < least[i] {
				least[i] = cost
			}
			ratios = append(ratios, float64(least[i])/float64(base))
		}
		if round >= fewestRounds && slices.Max(ratios) <= bound {
			break
		}
	}
	for i, kind := range kinds {
		t.Logf("%s: %v of processor time a request, %s: %v, ratio %.2f", kind.name, least[i], than.name, base, ratios[i])
		if ratios[i] > bound {
			t.Errorf("%s costs more than %.1f times as much as %s", kind.name, bound, than.name)
		}
	}
}

// oneOf is traffic of different cookies, one a request.
func oneOf(name string, tokens []string) traffic {
	return traffic{name, func(i int) string { return "cart=" + tokens[i%len(tokens)] }, 2_000}
}

// TestBadTokensAreCheap: a request with a bad token costs at most half as much again as one with a good token, and one
// with a flood of them as one with cookies of the same size that are not tokens.
func TestBadTokensAreCheap(t *testing.T) {
	w := newCostWorld(t)
	forged := w.tokens(t, harness.NewRing("first"), 2_000)
	t.Run("one", func(t *testing.T) { w.checkOne(t, forged) })
	t.Run("four", func(t *testing.T) { w.checkFour(t, forged) })
	t.Run("a flood", func(t *testing.T) { w.checkFlood(t, forged) })
}

func (w costWorld) checkOne(t *testing.T, forged []string) {
	good := oneOf("a good token", w.tokens(t, w.envoy.Keys(), 1))
	w.wantCheap(t, 1.5, good,
		oneOf("a forged token", forged),
		oneOf("a token of an unknown key", w.tokens(t, harness.NewRing("other"), 2_000)),
		oneOf("rubbish", []string{"x", "%00", strings.Repeat("A", harness.TokenLen)}))
}

// checkFour sends as many tokens as are verified in one request. They are four bad tokens against one good one, so the
// bound is wider: without the limit of four, a flood cost 2.5 times as much.
func (w costWorld) checkFour(t *testing.T, forged []string) {
	good := w.tokens(t, w.envoy.Keys(), 1)[0]
	four := traffic{"four forged tokens", func(i int) string {
		return "cart=" + strings.Join([]string{forged[i], forged[i/2], forged[i/3], forged[i/4]}, "; cart=")
	}, 2_000}
	others := traffic{"a good token behind three other cookies", func(i int) string {
		return "ca=" + forged[i] + "; cb=" + forged[i] + "; cc=" + forged[i] + "; cart=" + good
	}, 2_000}
	w.wantCheap(t, 2, others, four)
}

// checkFlood sends 55 kB of cookies of the session's name, each of a token's length and version, against 55 kB of
// other cookies. TestManyCookies has what becomes of the flood.
func (w costWorld) checkFlood(t *testing.T, forged []string) {
	flood := "cart=" + strings.Join(forged[:55_000/(harness.TokenLen+len("cart=; "))], "; cart=")
	kind := func(name, cookies string) traffic {
		return traffic{name, func(int) string { return cookies }, 300}
	}
	before := w.envoy.Outcomes(t, "cart")
	w.wantCheap(t, 1.5, kind("other cookies", strings.ReplaceAll(flood, "cart=", "tarc=")), kind("forged cookies", flood))
	after := w.envoy.Outcomes(t, "cart")
	if after["pinned"] != before["pinned"] || after["bad-signature"] < before["bad-signature"]+fewestRounds*300 {
		t.Errorf("outcomes went from %v to %v", before, after)
	}
}
