package e2e

import (
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// headerSessions is about what only header sessions have: the name without regard to case, several lines, and
// a backend that sets the header itself.
var headerSessions = option{name: "header sessions", rules: headerRules("X-Case"), check: checkHeaderSessions}

func checkHeaderSessions(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	text := mint(t, envoy, "X-Case", pods[1].Address, harness.Dates{})
	for _, line := range []string{"X-Case: ", "x-case: ", "X-CASE: "} {
		if got := stay(t, envoy.Stranger(), "/X-Case", 4, line+text); got != "b" {
			t.Errorf("%s led to %s", line, got)
		}
	}
	response := visit(t, envoy.Stranger(), "/X-Case", "x-case: "+text)
	if got := response.Header["X-Case"]; len(got) > 0 {
		t.Errorf("a steady session's response carries the token again: %q", got)
	}
	if len(response.Header["Set-Cookie"]) > 0 {
		t.Errorf("a header session sets a cookie: %q", response.Header["Set-Cookie"])
	}
	for _, lines := range [][]string{
		{"x-case: forged", "x-case: " + text},
		{"x-case: " + text, "x-case: forged"},
	} {
		if got := stay(t, envoy.Stranger(), "/X-Case", 4, lines...); got != "b" {
			t.Errorf("%q led to %s", lines, got)
		}
	}
	own := visit(t, envoy.Stranger(), "/X-Case", harness.ReplyHeader+": X-Case: mine").Header["X-Case"]
	if len(own) != 1 || own[0] != "mine" {
		t.Errorf("the backend's own header became %q", own)
	}
}
