package envoy

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestAnswersOfPinnedRequests: what hosts answer is tried again with requests that no session pins, and what hosts do not answer with all.
// The native filter pins without a header, so that there all requests are alike.
//
// requirements: S73
func TestAnswersOfPinnedRequests(t *testing.T) {
	config := policyconfig.DefaultConfig()
	for name, c := range map[string]struct {
		route  ir.Route
		native bool
		want   conditions
	}{
		"no session":      {route: ir.Route{Retry: &ir.Retry{Codes: []int{500}}}, want: conditions{policy: "connect-failure,refused-stream,reset,retriable-status-codes"}},
		"codes":           {route: ir.Route{Sticky: true, Retry: &ir.Retry{Codes: []int{500}}}, want: conditions{"connect-failure,refused-stream,reset", "retriable-status-codes"}},
		"native":          {route: ir.Route{Sticky: true, Retry: &ir.Retry{Codes: []int{500}}}, native: true, want: conditions{policy: "connect-failure,refused-stream,reset,retriable-status-codes"}},
		"resets alone":    {route: ir.Route{Sticky: true, Retry: &ir.Retry{}}, want: conditions{policy: "connect-failure,refused-stream,reset"}},
		"5xx":             {route: ir.Route{Sticky: true, Retry: &ir.Retry{On: []string{"5xx"}}}, want: conditions{"connect-failure,refused-stream,reset-before-request,reset", "5xx"}},
		"4xx and gRPC":    {route: ir.Route{Sticky: true, Retry: &ir.Retry{On: []string{"retriable-4xx", "cancelled"}}}, want: conditions{"connect-failure,refused-stream,reset-before-request", "retriable-4xx,cancelled"}},
		"5xx, no session": {route: ir.Route{Retry: &ir.Retry{On: []string{"5xx"}}}, want: conditions{policy: "5xx"}},
	} {
		e := &emitter{settings: Settings{Plugin: config, Native: c.native}}
		if got := e.splitConditions(&c.route); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	e := &emitter{settings: Settings{Plugin: config}}
	if got := e.newRetryHeader("a", "a,b").GetHeader().GetValue(); !strings.Contains(got, "'"+config.PinHeader+"' in request.headers ? 'a' : 'a,b'") {
		t.Errorf("the header is %q", got)
	}
}
