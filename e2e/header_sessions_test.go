package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/harness"
)

// TestHeaderSessions is about what only header sessions have: the name without regard to case, several lines, and
// a backend that sets the header itself.
func TestHeaderSessions(t *testing.T) {
	t.Parallel()
	pods, deployment := threePods(t, harness.HeaderRule("X-Cart", "pods"))
	envoy := harness.Run(t, deployment)
	text := mint(t, envoy, "X-Cart", pods[1].Address, harness.Dates{})
	for _, line := range []string{"X-Cart: ", "x-cart: ", "X-CART: "} {
		if got := stay(t, envoy.Stranger(), "/X-Cart", 4, line+text); got != "b" {
			t.Errorf("%s led to %s", line, got)
		}
	}
	response := visit(t, envoy.Stranger(), "/X-Cart", "x-cart: "+text)
	if got := response.Header["X-Cart"]; len(got) > 0 {
		t.Errorf("a steady session's response carries the token again: %q", got)
	}
	if len(response.Header["Set-Cookie"]) > 0 {
		t.Errorf("a header session sets a cookie: %q", response.Header["Set-Cookie"])
	}
	for _, lines := range [][]string{
		{"x-cart: forged", "x-cart: " + text},
		{"x-cart: " + text, "x-cart: forged"},
	} {
		if response := visit(t, envoy.Stranger(), "/X-Cart", lines...); response.Status != 200 {
			t.Errorf("%q: status %d", lines, response.Status)
		}
	}
	own := visit(t, envoy.Stranger(), "/X-Cart", harness.ReplyHeader+": X-Cart: mine").Header["X-Cart"]
	if len(own) != 1 || own[0] != "mine" {
		t.Errorf("the backend's own header became %q", own)
	}
}
