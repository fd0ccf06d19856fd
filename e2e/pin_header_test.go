package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

const pinHeader = "x-limpet-pin"

// pinTo is the value by which Envoy's stateful_session filter would be steered to a backend.
func pinTo(b *harness.Backend) string { return base64.StdEncoding.EncodeToString([]byte(b.Address)) }

// TestPinHeaderFence is about the internal header that carries the verified host between limpet and Envoy's own
// filter: no client may steer by it, and none may see it.
func TestPinHeaderFence(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"),
		harness.PlainRule("plain", "pods"))
	envoy := harness.Run(t, deployment)

	t.Run("a client's copy steers nothing", func(t *testing.T) { clientPins(t, envoy, pods) })
	t.Run("a client's copy does not move a session", func(t *testing.T) { clientPinsWithSession(t, envoy, pods) })
	t.Run("a backend's copy steers nothing", func(t *testing.T) { backendPins(t, envoy, pods) })
	t.Run("no backend ever got the header", func(t *testing.T) {
		for _, pod := range pods {
			if pod.Got(pinHeader) {
				t.Errorf("backend %s got a request with %s", pod.Name, pinHeader)
			}
		}
	})
}

// TestPinHeaderWithoutVM: where Envoy can't make a worker's VM, it leaves limpet out of that worker's requests without a
// word, whatever the failure policy, and stateful_session would obey any client. Envoy's own fence holds.
func TestPinHeaderWithoutVM(t *testing.T) {
	harness.WasmOnly(t, "the native filter needs no VM")
	t.Parallel()
	pods, deployment := threePods(t, harness.CookieRule("cart", "pods"), harness.HeaderRule("x-cart", "pods"),
		harness.PlainRule("plain", "pods"))
	envoy := harness.Compile(t, deployment).StartWithoutVMs(t)
	wantNoToken(t, visit(t, envoy.Stranger(), "/cart"), "cart") // limpet is out, or the test shows nothing
	clientPins(t, envoy, pods)
}

// pinLines are the ways in which a client may write the header.
func pinLines(pod *harness.Backend) [][]string {
	value := pinTo(pod)
	return [][]string{
		{pinHeader + ": " + value},
		{"X-LIMPET-PIN: " + value},
		{"X-Limpet-Pin: " + value, "x-limpet-pin: " + value},
		{pinHeader + ": ", "X-LIMPET-pin: " + value},
		{pinHeader + ": " + value + "," + value},
		{pinHeader + ": " + value, "Connection: " + pinHeader},
		{pinHeader + ": " + pod.Address},
	}
}

func clientPins(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	for _, path := range []string{"/cart", "/x-cart", "/plain"} {
		for _, lines := range pinLines(pods[0]) {
			shares := map[string]int{}
			for range 15 {
				shares[fenced(t, visit(t, envoy.Stranger(), path, lines...)).Backend]++
			}
			if shares["a"] == 15 || len(shares) != 3 {
				t.Errorf("%s with %q: %v", path, lines, shares)
			}
		}
	}
}

func clientPinsWithSession(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	own := harness.Dates{}
	sessions := map[string]string{
		"/cart":   cookieLine("cart", mint(t, envoy, "cart", pods[1].Address, own)),
		"/x-cart": "x-cart: " + mint(t, envoy, "x-cart", pods[1].Address, own),
	}
	for path, session := range sessions {
		for _, lines := range pinLines(pods[0]) {
			for range 5 {
				response := fenced(t, visit(t, envoy.Stranger(), path, append(lines, session)...))
				if response.Backend != "b" {
					t.Errorf("%s: a session on b reached %s with %q", path, response.Backend, lines)
				}
			}
		}
	}
}

// backendPins lets a backend send the header to make limpet sign a token for another host.
func backendPins(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	addresses := map[string]string{}
	for _, pod := range pods {
		addresses[pod.Name] = pod.Address
	}
	for _, name := range []string{pinHeader, "X-LIMPET-PIN"} {
		steer := fmt.Sprintf("%s: %s: %s", harness.ReplyHeader, name, pinTo(pods[2]))
		for range 9 {
			fenced(t, visit(t, envoy.Stranger(), "/plain", steer))
			response := fenced(t, visit(t, envoy.Stranger(), "/cart", steer, steer))
			text := wantToken(t, response, "cart").Value
			if got := open(t, envoy, "cart", text).Host.String(); got != addresses[response.Backend] {
				t.Errorf("%s answered at %s, and its token leads to %s", response.Backend, addresses[response.Backend], got)
			}
			again := fenced(t, visit(t, envoy.Stranger(), "/cart", steer, cookieLine("cart", text)))
			if again.Backend != response.Backend {
				t.Errorf("a session on %s moved to %s", response.Backend, again.Backend)
			}
			wantNoToken(t, again, "cart")
		}
	}
}

// fenced fails if the pin header reached the client or the backend.
func fenced(t *testing.T, response harness.Response) harness.Response {
	t.Helper()
	for name := range response.Header {
		if strings.EqualFold(name, pinHeader) {
			t.Errorf("the response from %s has %s: %q", response.Backend, name, response.Header[name])
		}
	}
	if got := response.Seen.Headers.Values(pinHeader); len(got) > 0 {
		t.Errorf("backend %s got %s: %q", response.Backend, pinHeader, got)
	}
	return response
}
