package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// forward is about what the backend sees of the token: all of it by default, nothing with forward: false.
var forward = option{
	name:  "forward",
	rules: append(cookieRules("kept", "cart"), headerRules("x-kept", "x-cart")...),
	edits: map[string]func(*policyconfig.Policy){
		"cart":   func(p *policyconfig.Policy) { p.Forward = false },
		"x-cart": func(p *policyconfig.Policy) { p.Forward = false },
	},
	check: func(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
		t.Run("forwarded", func(t *testing.T) { checkForwarded(t, envoy, pods) })
		t.Run("stripped from cookies", func(t *testing.T) { checkStripped(t, envoy, pods) })
		t.Run("stripped header", func(t *testing.T) {
			text := mint(t, envoy, "x-cart", pods[1].Address, harness.Dates{})
			response := visit(t, envoy.Stranger(), "/x-cart", "x-cart: "+text, "X-Other: 1")
			if got := response.Seen.Headers; response.Backend != "b" || got.Get("x-cart") != "" || got.Get("X-Other") != "1" {
				t.Errorf("backend %s got %v", response.Backend, got)
			}
		})
	},
}

func checkForwarded(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	text := mint(t, envoy, "kept", pods[1].Address, harness.Dates{})
	got := visit(t, envoy.Stranger(), "/kept", "Cookie: a=1; kept="+text).Seen.Headers.Get("Cookie")
	if got != "a=1; kept="+text {
		t.Errorf("the backend got the cookies %q", got)
	}
	text = mint(t, envoy, "x-kept", pods[1].Address, harness.Dates{})
	if got := visit(t, envoy.Stranger(), "/x-kept", "x-kept: "+text).Seen.Headers.Get("x-kept"); got != text {
		t.Errorf("the backend got the header %q", got)
	}
}

// checkStripped strips every token of the session's name, valid or not, and leaves all other cookies as they were,
// also one of the session's name that is no token: then it is the backend's.
func checkStripped(t *testing.T, envoy *harness.Envoy, pods []*harness.Backend) {
	valid := mint(t, envoy, "cart", pods[1].Address, harness.Dates{})
	forged := harness.NewRing("first").Mint(t, envoy.Policy(t, "cart").Scope, pods[0].Address, harness.Dates{})
	for _, c := range []struct {
		lines []string
		want  string // of all lines together
	}{
		{[]string{"VALID"}, ""},
		{[]string{"VALID; FORGED"}, ""},
		{[]string{"a=1; VALID; b=2"}, "a=1; b=2"},
		{[]string{"VALID; a=1"}, "a=1"},
		{[]string{"a=1; VALID"}, "a=1"},
		{[]string{"a=1; b=2", "VALID", "c=3; FORGED; d=\"4\""}, "a=1; b=2; c=3; d=\"4\""},
		{[]string{"FORGED", "VALID"}, ""},
		{[]string{"a=1; b=2"}, "a=1; b=2"},
		{[]string{"cart=mine; VALID"}, "cart=mine"},
	} {
		response := visit(t, envoy.Stranger(), "/cart", cookieLines(valid, forged, c.lines...)...)
		got := response.Seen.Headers["Cookie"]
		if strings.Join(got, "; ") != c.want {
			t.Errorf("of the cookies %q the backend got %q, want %q", c.lines, got, c.want)
		}
		if hasToken := slices.ContainsFunc(c.lines, func(s string) bool { return strings.Contains(s, "VALID") }); hasToken && response.Backend != "b" {
			t.Errorf("%q: reached %s instead of b", c.lines, response.Backend)
		}
	}
}
