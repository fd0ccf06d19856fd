package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// Envoy takes 60 kB of request headers, in 100 lines, unless it is told otherwise.
const (
	headerBytes = 60 << 10
	headerLines = 100
)

// TestCookiesAtEnvoysLimits: a session's token is found at the very end of as many cookies as Envoy lets through; more
// are Envoy's to refuse, and do no harm.
func TestCookiesAtEnvoysLimits(t *testing.T) {
	t.Parallel()
	envoy := twoPortEnvoy(t)
	valid := "cart=" + mint(t, envoy.Envoy, "cart", envoy.pods[1].Address, harness.Dates{})
	others := func(size int) string { return strings.Repeat("a=0123456789; ", size/14) }
	row := harness.Result{}
	for name, c := range map[string]struct {
		fields  harness.Fields
		through bool
	}{
		"one long line":    {harness.Fields{{"cookie", others(headerBytes-1000) + valid}}, true},
		"many lines":       {append(repeated(headerLines-10, "cookie", others(500)), [2]string{"cookie", valid}), true},
		"many small lines": {append(repeated(headerLines-10, "cookie", "a=1"), [2]string{"cookie", valid}), true},
		"a line too long":  {harness.Fields{{"cookie", others(headerBytes+1000) + valid}}, false},
		"lines too long":   {append(repeated(headerLines-10, "cookie", others(1000)), [2]string{"cookie", valid}), false},
		"lines too many":   {append(repeated(headerLines+10, "x-other", "1"), [2]string{"cookie", valid}), false},
	} {
		for _, wire := range envoy.Wires(envoy.certificate, envoy.tlsPort) {
			row.Requests++
			raw := wire.Send(t, http.MethodGet, "/cart", c.fields)
			if c.through && (raw.Status != http.StatusOK || raw.Header.Get(harness.BackendHeader) != "b") {
				t.Errorf("%s: %s: status %d from %q", wire.Name, name, raw.Status, raw.Header.Get(harness.BackendHeader))
				row.Lost++
			}
			// Over HTTP/2 Envoy may reset the stream instead.
			if !c.through && !slices.Contains([]int{0, http.StatusRequestHeaderFieldsTooLarge}, raw.Status) {
				t.Errorf("%s: %s: status %d", wire.Name, name, raw.Status)
				row.Errors++
			}
			checkGoodSession(t, envoy, wire)
		}
		row.Faults++
	}
	wantNoTrap(t, envoy.Envoy)
	harness.RecordResult(t, "cookies at Envoy's limits", row)
}
